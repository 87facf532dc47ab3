// A read-write lock: readers share it, a writer excludes all, and a writer that becomes a reader
// before it lets go is still atomic, because no thread can write in between.
// atomic: ReadWrite.set, ReadWrite.sum, ReadWrite.downgrade, ReadWrite.twice

import java.util.concurrent.locks.ReentrantReadWriteLock;

final class ReadWrite {
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    private int a;
    private int b;

    void set(int by) {
        lock.writeLock().lock();
        try {
            a += by;
            Workers.mix();
            b -= by;
        } finally {
            lock.writeLock().unlock();
        }
    }

    int sum() {
        lock.readLock().lock();
        try {
            int first = a;
            Workers.mix();
            return first + b;
        } finally {
            lock.readLock().unlock();
        }
    }

    int twice() {
        lock.readLock().lock();
        try {
            int first = sum();
            Workers.mix();
            return first + sum();
        } finally {
            lock.readLock().unlock();
        }
    }

    boolean downgrade(int by) {
        lock.writeLock().lock();
        int written;
        try {
            a += by;
            b -= by;
            written = a;
            lock.readLock().lock();
        } finally {
            lock.writeLock().unlock();
        }
        try {
            Workers.mix();
            return a == written && a + b == 0;
        } finally {
            lock.readLock().unlock();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        ReadWrite it = new ReadWrite();
        int[] wrong = new int[4];
        Workers.all(4, me -> {
            for (int i = 0; i < 60; i++) {
                it.set(me);
                wrong[me] += it.sum();
                wrong[me] += it.twice();
                wrong[me] += it.downgrade(1) ? 0 : 1;
            }
        });
        System.out.println(it.a + " " + it.b + " " + (wrong[0] | wrong[1] | wrong[2] | wrong[3]));
    }
}
