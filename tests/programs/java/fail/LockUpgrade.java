// From the read lock to the write lock by letting go: what was read may have changed.
// atomic: LockUpgrade.fill
// expect: violation LockUpgrade.fill
// on: LockUpgrade, ReentrantReadWriteLock

import java.util.concurrent.locks.ReentrantReadWriteLock;

final class LockUpgrade {
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    private int filled;

    void fill(Runnable middle) {
        lock.readLock().lock();
        int seen = filled;
        lock.readLock().unlock();
        if (seen == 0) {
            middle.run();
            lock.writeLock().lock();
            filled++;
            lock.writeLock().unlock();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        LockUpgrade it = new LockUpgrade();
        Between.force(it::fill, me -> it.fill(Between::nothing));
        System.out.println(it.filled);
    }
}
