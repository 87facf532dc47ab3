// Threads that park until it is their turn: the order comes from the volatile field, unpark only
// wakes.
// atomic: ParkUnpark.step

import java.util.concurrent.locks.LockSupport;

final class ParkUnpark {
    private volatile int turn;
    private final Thread[] threads = new Thread[2];
    private int x;

    void step(int next) {
        int old = x;
        Workers.mix();
        x = old + 1;
        turn = next;
    }

    private void play(int me) {
        for (int i = 0; i < 200; i++) {
            while (turn != me) {
                LockSupport.park(this);
            }
            step(1 - me);
            LockSupport.unpark(threads[1 - me]);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        ParkUnpark it = new ParkUnpark();
        it.threads[0] = new Thread(() -> it.play(0));
        it.threads[1] = new Thread(() -> it.play(1));
        for (Thread thread : it.threads) {
            thread.start();
        }
        for (Thread thread : it.threads) {
            thread.join();
        }
        System.out.println(it.x);
    }
}
