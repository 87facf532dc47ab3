// Updaters of volatile fields, adders and accumulators: each call is one step, and orders as the field does.
// atomic: Updaters.count, Updaters.add, Updaters.swap, Updaters.take, Updaters.step, Updaters.gather

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.concurrent.atomic.DoubleAdder;
import java.util.concurrent.atomic.LongAccumulator;

final class Updaters {
    private static final AtomicIntegerFieldUpdater<Updaters> COUNT =
            AtomicIntegerFieldUpdater.newUpdater(Updaters.class, "count");
    private static final AtomicLongFieldUpdater<Updaters> SUM =
            AtomicLongFieldUpdater.newUpdater(Updaters.class, "sum");
    private static final AtomicReferenceFieldUpdater<Updaters, String> LAST =
            AtomicReferenceFieldUpdater.newUpdater(Updaters.class, String.class, "last");
    private static final AtomicIntegerFieldUpdater<Updaters> TURN =
            AtomicIntegerFieldUpdater.newUpdater(Updaters.class, "turn");

    private volatile int count;
    private volatile long sum;
    private volatile String last = "";
    private volatile int turn;
    private int steps;
    private final DoubleAdder halves = new DoubleAdder();
    private final LongAccumulator most = new LongAccumulator(Math::max, 0);
    private final AtomicLong ticket = new AtomicLong();

    int count() {
        return COUNT.incrementAndGet(this);
    }

    long add(long by) {
        return SUM.getAndAdd(this, by);
    }

    String swap(String to) {
        return LAST.getAndSet(this, to);
    }

    boolean take(long seen) {
        return ticket.compareAndExchange(seen, seen + 1) == seen;
    }

    void step(int me) {
        int old = steps;
        Workers.mix();
        steps = old + 1;
        TURN.lazySet(this, 1 - me);
    }

    void gather(int value) {
        halves.add(value / 2.0);
    }

    private static void failing(Runnable it) {
        try {
            it.run();
        } catch (RuntimeException e) {
            System.out.println(e.getClass().getName());
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    public static void main(String[] args) throws InterruptedException {
        Updaters it = new Updaters();
        failing(() -> COUNT.get(null));
        failing(() -> ((AtomicReferenceFieldUpdater) LAST).set(it, 1));
        failing(() -> ((AtomicIntegerFieldUpdater) COUNT).set("other", 1));
        Workers.all(2, me -> {
            for (int i = 0; i < 150; i++) {
                it.count();
                it.add(i);
                it.swap("by " + me);
                it.gather(i);
                it.take(it.ticket.get());
                while (!TURN.compareAndSet(it, me, me)) {
                    Thread.yield();
                }
                it.step(me);
                if (me == 0) {
                    it.most.accumulate(i);
                }
            }
        });
        System.out.println(it.count + " " + it.sum + " " + it.steps + " " + it.halves.sum());
        System.out.println(it.most.get() + " " + (it.ticket.get() > 149));
    }
}
