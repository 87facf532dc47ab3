// The monitor of a lock object is not the lock: one thread uses the lock, the other the monitor, and
// they have nothing in common. (Both had one number: a false cycle.)
// atomic: LockMonitors.twice, LockMonitors.viaLock

import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

final class LockMonitors {
    static final class Named extends ReentrantLock {
        synchronized void inside(Runnable action) {
            action.run();
        }
    }

    private final Lock lock = new ReentrantLock();
    private final Named named = new Named();
    private final Semaphore semaphore = new Semaphore(1);
    private int x;
    private int y;

    void viaLock() {
        lock.lock();
        try {
            x++;
        } finally {
            lock.unlock();
        }
        named.lock();
        named.unlock();
        semaphore.acquireUninterruptibly();
        semaphore.release();
    }

    /** Nothing of the other thread comes between, whenever it runs. */
    void twice(Runnable middle) {
        viaMonitors();
        middle.run();
        viaMonitors();
    }

    private void viaMonitors() {
        synchronized (lock) {
            y++;
        }
        named.inside(() -> y++);
        synchronized (semaphore) {
            y++;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        LockMonitors it = new LockMonitors();
        Between.force(it::twice, me -> it.viaLock());
        System.out.println(it.x + " " + it.y);
    }
}
