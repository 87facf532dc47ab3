// A hand-over by method handles of a volatile field: not understood, so that races are warnings.
// atomic: FieldHandles.step
// gap: java.lang.invoke.MethodHandles$Lookup.findSetter

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;

final class FieldHandles {
    private static final MethodHandle GET;
    private static final MethodHandle SET;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            GET = lookup.findGetter(FieldHandles.class, "turn", int.class);
            SET = lookup.findSetter(FieldHandles.class, "turn", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private volatile int turn;
    private int x;

    void step() {
        int old = x;
        Workers.mix();
        x = old + 1;
    }

    private int turn() {
        try {
            return (int) GET.invokeExact(this);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private void give(int to) {
        try {
            SET.invokeExact(this, to);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        FieldHandles it = new FieldHandles();
        Workers.all(2, me -> {
            for (int i = 0; i < 50; i++) {
                while (it.turn() != me) {
                    Thread.yield();
                }
                it.step();
                it.give(1 - me);
            }
        });
        System.out.println(it.x);
    }
}
