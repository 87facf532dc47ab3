// A stamped lock: write, read, conversion, and optimistic reads when no thread writes any more. (An
// optimistic read during a write sees half of it, and finds out later: that is interference.)
// atomic: Stamped.move, Stamped.lockedSum, Stamped.sum

import java.util.concurrent.locks.StampedLock;

final class Stamped {
    private final StampedLock lock = new StampedLock();
    private int x;
    private int y;

    void move(int by) {
        long stamp = lock.writeLock();
        try {
            x += by;
            Workers.mix();
            y -= by;
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    int lockedSum() {
        long stamp = lock.readLock();
        try {
            int first = x;
            Workers.mix();
            return first + y;
        } finally {
            lock.unlock(stamp);
        }
    }

    int sum() {
        long stamp = lock.tryOptimisticRead();
        int first = x;
        Workers.mix();
        int sum = first + y;
        return lock.validate(stamp) ? sum : lockedSum();
    }

    void convert() {
        long stamp = lock.readLock();
        try {
            while (x >= 0) {
                long write = lock.tryConvertToWriteLock(stamp);
                if (write != 0) {
                    stamp = write;
                    x++;
                    y--;
                    break;
                }
                lock.unlockRead(stamp);
                stamp = lock.writeLock();
            }
        } finally {
            lock.unlock(stamp);
        }
    }

    int lower() {
        long write = lock.writeLock();
        x++;
        y--;
        long read = lock.tryConvertToReadLock(write);
        int first = x;
        Workers.mix();
        int sum = first + y;
        long none = lock.tryConvertToOptimisticRead(read);
        long again = lock.tryConvertToReadLock(none);
        if (again != 0) {
            sum |= x + y;
            lock.unlockRead(again);
        }
        long last = lock.writeLock();
        x--;
        y++;
        lock.tryConvertToOptimisticRead(last);
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        Stamped it = new Stamped();
        int[] wrong = new int[3];
        Workers.all(3, me -> {
            for (int i = 0; i < 100; i++) {
                it.move(me);
                it.convert();
                wrong[me] |= it.lower();
                wrong[me] |= it.lockedSum();
            }
        });
        Workers.all(3, me -> {
            for (int i = 0; i < 50; i++) {
                wrong[me] |= it.sum();
            }
        });
        System.out.println(it.x + " " + it.y + " " + (wrong[0] | wrong[1] | wrong[2]));
    }
}
