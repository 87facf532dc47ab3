// Tens of thousands of virtual threads at once: each of them has started before the first may end.
// needs: 21
// property: atomicity
// atomic: ManyVirtual.add

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

final class ManyVirtual {
    private static final int COUNT = 20_000;
    private int sum;

    synchronized void add(int amount) {
        int before = sum;
        sum = before + amount;
    }

    private static Runnable body(ManyVirtual all, CountDownLatch here) {
        return () -> {
            all.add(1);
            here.countDown();
            try {
                here.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            all.add(1);
        };
    }

    public static void main(String[] args) throws InterruptedException {
        ManyVirtual all = new ManyVirtual();
        CountDownLatch here = new CountDownLatch(COUNT);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < COUNT; i++) {
            threads.add(Thread.ofVirtual().unstarted(body(all, here)));
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(all.sum);
    }
}
