// Atomic classes: each call is one step, also those that try again inside. A loop of attempts in
// the program itself stands outside of the atomic methods.
// atomic: Atomics.next, Atomics.best, Atomics.move, Atomics.claim, Atomics.cell, Atomics.field

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;

final class Atomics {
    static final class Pair {
        final int left;
        final int right;

        Pair(int left, int right) {
            this.left = left;
            this.right = right;
        }
    }

    private static final AtomicIntegerFieldUpdater<Atomics> FIELD =
            AtomicIntegerFieldUpdater.newUpdater(Atomics.class, "field");
    private final AtomicInteger counter = new AtomicInteger();
    private final AtomicInteger best = new AtomicInteger();
    private final AtomicInteger looped = new AtomicInteger();
    private final AtomicReference<Pair> pair = new AtomicReference<>(new Pair(0, 0));
    private final AtomicReference<Integer> owner = new AtomicReference<>();
    private final AtomicLongArray cells = new AtomicLongArray(3);
    private final LongAdder adder = new LongAdder();
    private volatile int field;

    int next() {
        return counter.incrementAndGet();
    }

    int best(int value) {
        return best.accumulateAndGet(value, Math::max);
    }

    int move() {
        Pair now = pair.updateAndGet(old -> {
            Workers.mix();
            return new Pair(old.left + 1, old.right - 1);
        });
        return now.left + now.right;
    }

    boolean claim(Integer me) {
        return owner.compareAndSet(null, me);
    }

    /** Each thread has a cell of its own. */
    long cell(int me) {
        long old = cells.get(me);
        Workers.mix();
        cells.set(me, old + 1);
        return cells.addAndGet(me, 1);
    }

    int field() {
        return FIELD.getAndAdd(this, 2);
    }

    private void loop() {
        int old;
        do {
            old = looped.get();
            Workers.mix();
        } while (!looped.compareAndSet(old, old + 1));
    }

    public static void main(String[] args) throws InterruptedException {
        Atomics it = new Atomics();
        int[] claims = new int[3];
        int[] wrong = new int[3];
        Workers.all(3, me -> {
            for (int i = 0; i < 100; i++) {
                it.next();
                it.best(i * (me + 1));
                wrong[me] |= it.move();
                claims[me] += it.claim(me) ? 1 : 0;
                it.cell(me);
                it.field();
                it.loop();
                it.adder.increment();
            }
        });
        System.out.println(it.counter.get() + " " + it.best + " " + it.pair.get().left + " "
                + (claims[0] + claims[1] + claims[2]) + " " + (wrong[0] | wrong[1] | wrong[2]));
        System.out.println(it.cells + " " + it.field + " " + it.looped + " " + it.adder);
    }
}
