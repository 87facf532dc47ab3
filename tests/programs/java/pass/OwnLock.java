// A lock of a class that extends one of the platform's: it is a lock all the same.
// atomic: OwnLock.step

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
