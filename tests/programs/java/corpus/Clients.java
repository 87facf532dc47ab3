// Threads that ask a server on the loopback interface and add up what it says.

import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;

final class Clients {
    private Clients() {}

    static String run(int port, String[] args) throws InterruptedException {
        int requests = Integer.parseInt(args[1]);
        AtomicLong sum = new AtomicLong();
        Thread[] clients = new Thread[Integer.parseInt(args[0])];
        for (int i = 0; i < clients.length; i++) {
            int me = i;
            clients[i] = new Thread(() -> {
                for (int request = 0; request < requests; request++) {
                    sum.addAndGet(ask(port, "/client" + me + "/" + request + "?x=" + request % 7));
                }
            });
            clients[i].start();
        }
        for (Thread client : clients) {
            client.join();
        }
        return "sum of answers " + sum;
    }

    private static long ask(int port, String path) {
        try (InputStream in = URI.create("http://127.0.0.1:" + port + path).toURL().openStream()) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8).hashCode();
        } catch (java.io.IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
