// An optimistic read that is not validated: half of a change is seen.
// atomic: StampedUnvalidated.sum, StampedUnvalidated.move
// expect: violation StampedUnvalidated.sum
// on: StampedUnvalidated

import java.util.concurrent.locks.StampedLock;

final class StampedUnvalidated {
    private final StampedLock lock = new StampedLock();
    private int x = 10;
    private int y = -10;

    int sum(Runnable middle) {
        lock.tryOptimisticRead();
        int first = x;
        middle.run();
        return first + y;
    }

    void move(int by) {
        long stamp = lock.writeLock();
        x += by;
        y -= by;
        lock.unlockWrite(stamp);
    }

    public static void main(String[] args) throws InterruptedException {
        StampedUnvalidated it = new StampedUnvalidated();
        int[] sum = new int[1];
        Between.force(middle -> sum[0] = it.sum(middle), me -> it.move(5));
        System.out.println(sum[0]);
    }
}
