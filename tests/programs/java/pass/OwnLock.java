// A lock of a class that extends one of the platform's: code names that class, which has no model.
// atomic: OwnLock.step
// gap: a class that extends java.util.concurrent.locks.ReentrantLock

import java.util.concurrent.locks.ReentrantLock;

final class OwnLock extends ReentrantLock {
    private int count;

    void step() {
        lock();
        try {
            int old = count;
            Workers.mix();
            count = old + 1;
        } finally {
            unlock();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        OwnLock it = new OwnLock();
        Workers.all(2, me -> {
            for (int i = 0; i < 100; i++) {
                it.step();
            }
        });
        System.out.println(it.count);
    }
}
