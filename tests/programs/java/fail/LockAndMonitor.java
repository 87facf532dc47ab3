// One thread has the lock, the other the monitor of the lock object: a race. (Both had one number,
// which ordered them.)
// property: race
// expect: race
// on: LockAndMonitor.x

import java.util.concurrent.locks.ReentrantLock;

final class LockAndMonitor {
    private final ReentrantLock lock = new ReentrantLock();
    private int x;

    void viaLock() {
        lock.lock();
        try {
            x++;
        } finally {
            lock.unlock();
        }
    }

    void viaMonitor() {
        synchronized (lock) {
            x++;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        LockAndMonitor it = new LockAndMonitor();
        Turn turn = new Turn();
        Workers.each(
                me -> {
                    it.viaLock();
                    turn.give();
                },
                me -> {
                    turn.await();
                    it.viaMonitor();
                });
        System.out.println(it.x);
    }
}
