// VarHandles: read-modify-write, a hand-over by release and acquire, a lock by compare-and-set, and
// elements of an array.
// atomic: VarHandles.add, VarHandles.step, VarHandles.critical, VarHandles.element

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

final class VarHandles {
    private static final VarHandle COUNT;
    private static final VarHandle TURN;
    private static final VarHandle LOCK;
    private static final VarHandle LONGS = MethodHandles.arrayElementVarHandle(long[].class);

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            COUNT = lookup.findVarHandle(VarHandles.class, "count", long.class);
            TURN = lookup.findVarHandle(VarHandles.class, "turn", int.class);
            LOCK = lookup.findVarHandle(VarHandles.class, "lock", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private long count;
    private int turn;
    private boolean lock;
    private final long[] longs = new long[2];
    private int x;
    private int y;

    long add(long by) {
        return (long) COUNT.getAndAdd(this, by);
    }

    void step(int next) {
        int old = x;
        Workers.mix();
        x = old + 1;
        TURN.setRelease(this, next);
    }

    void critical() {
        int old = y;
        Workers.mix();
        y = old + 1;
    }

    void element(int index) {
        LONGS.getAndAddRelease(longs, index, 3L);
    }

    public static void main(String[] args) throws InterruptedException {
        VarHandles it = new VarHandles();
        Workers.all(2, me -> {
            for (int i = 0; i < 150; i++) {
                it.add(i);
                while ((int) TURN.getAcquire(it) != me) {
                    Thread.yield();
                }
                it.step(1 - me);
                while (!LOCK.compareAndSet(it, false, true)) {
                    Thread.yield();
                }
                it.critical();
                LOCK.setVolatile(it, false);
                it.element(i % 2);
            }
        });
        System.out.println(it.count + " " + it.x + " " + it.y + " " + it.longs[0] + " " + it.longs[1]);
    }
}
