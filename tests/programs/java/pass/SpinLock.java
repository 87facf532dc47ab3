// A lock made of a compare-and-set loop. The attempts stand outside of the atomic method: a
// repeated attempt sees what others did in between, so the loop itself is not atomic.
// atomic: SpinLock.critical, SpinLock.attempt, SpinLock.leave

import java.util.concurrent.atomic.AtomicBoolean;

final class SpinLock {
    private final AtomicBoolean taken = new AtomicBoolean();
    private int left;
    private int right;

    boolean attempt() {
        return taken.compareAndSet(false, true);
    }

    void leave() {
        taken.set(false);
    }

    void critical(int by) {
        int old = left;
        Workers.mix();
        right -= by;
        left = old + by;
    }

    public static void main(String[] args) throws InterruptedException {
        SpinLock it = new SpinLock();
        Workers.all(3, me -> {
            for (int i = 0; i < 200; i++) {
                while (!it.attempt()) {
                    Thread.yield();
                }
                it.critical(i);
                it.leave();
            }
        });
        System.out.println(it.left + " " + it.right);
    }
}
