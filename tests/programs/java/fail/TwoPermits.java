// A semaphore meant as a lock, with one permit too many.
// atomic: TwoPermits.increment
// expect: violation TwoPermits.increment
// on: TwoPermits.value

import java.util.concurrent.Semaphore;

final class TwoPermits {
    private final Semaphore permits = new Semaphore(2);
    private int value;

    void increment(Runnable middle) throws InterruptedException {
        permits.acquire();
        int old = value;
        middle.run();
        value = old + 1;
        permits.release();
    }

    public static void main(String[] args) throws InterruptedException {
        TwoPermits it = new TwoPermits();
        Between.force(it::increment, me -> it.increment(Between::nothing));
        System.out.println(it.value);
    }
}
