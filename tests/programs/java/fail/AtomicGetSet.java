// An AtomicInteger used by get and set instead of one step.
// atomic: AtomicGetSet.raise
// expect: violation AtomicGetSet.raise
// on: AtomicInteger

import java.util.concurrent.atomic.AtomicInteger;

final class AtomicGetSet {
    private final AtomicInteger best = new AtomicInteger();

    void raise(int value, Runnable middle) {
        if (best.get() < value) {
            middle.run();
            best.set(value);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        AtomicGetSet it = new AtomicGetSet();
        Between.force(middle -> it.raise(1, middle), me -> it.raise(2, Between::nothing));
        System.out.println(it.best);
    }
}
