// What the programs share: threads that run one body each, and a call that makes it likely that
// the scheduler switches right there.

import java.util.concurrent.ThreadLocalRandom;

final class Workers {
    interface Body {
        void run(int me) throws Exception;
    }

    private Workers() {}

    /** Runs the body in so many threads and waits for all of them. */
    static void all(int threads, Body body) throws InterruptedException {
        Thread[] started = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            int me = i;
            started[i] = new Thread(() -> checked(body, me), "worker-" + me);
        }
        for (Thread thread : started) {
            thread.start();
        }
        for (Thread thread : started) {
            thread.join();
        }
    }

    /** Threads of different kinds. */
    static void each(Body... bodies) throws InterruptedException {
        all(bodies.length, me -> bodies[me].run(me));
    }

    private static void checked(Body body, int me) {
        try {
            body.run(me);
        } catch (Exception e) {
            throw new IllegalStateException("worker " + me, e);
        }
    }

    /** A moment in which other threads may run. */
    static void mix() {
        int dice = ThreadLocalRandom.current().nextInt(16);
        if (dice == 0) {
            Thread.yield();
        } else if (dice < 4) {
            for (int i = 0; i < dice * 20; i++) {
                Thread.onSpinWait();
            }
        }
    }
}
