// VarHandles of all kinds: of static and inherited fields, of a class that is not initialised yet, of elements,
// in an interface; all modes, and the exceptions that they throw. Reflection shows nothing of ours.
// atomic: HandleKinds.exchange, HandleKinds.statics, HandleKinds.elements, HandleKinds.inherited

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Method;

final class HandleKinds extends HandleKinds0 {
    static class Late {
        static int value;

        static {
            value = 7;
            System.out.println("late");
        }
    }

    interface Tally {
        VarHandle ALL = MethodHandles.arrayElementVarHandle(int[].class);

        int[] all();

        default int next(int which) {
            return (int) ALL.getAndAdd(all(), which, 1);
        }
    }

    private static final VarHandle TOTAL;
    private static final VarHandle LATE;
    private static final VarHandle SUM;
    private static final VarHandle LEVEL;
    private static final VarHandle NAME;
    private static final VarHandle RATE;
    private static final VarHandle FIXED;
    private static final VarHandle NAMES = MethodHandles.arrayElementVarHandle(String[].class);

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            TOTAL = lookup.findStaticVarHandle(HandleKinds.class, "total", long.class);
            LATE = lookup.findStaticVarHandle(Late.class, "value", int.class);
            SUM = lookup.findVarHandle(HandleKinds.class, "sum", int.class);
            LEVEL = lookup.unreflectVarHandle(HandleKinds.class.getDeclaredField("level"));
            NAME = lookup.findVarHandle(HandleKinds.class, "name", String.class);
            RATE = lookup.findVarHandle(HandleKinds.class, "rate", double.class)
                    .withInvokeExactBehavior();
            FIXED = lookup.findVarHandle(HandleKinds.class, "fixed", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private static long total;
    private byte level;
    private volatile String name = "";
    private double rate;
    private final int fixed = 4;
    private final String[] names = {"a", "b"};
    private final int[] counts = new int[3];

    boolean exchange(String was, String to) {
        return (String) NAME.compareAndExchange(this, was, to) == was;
    }

    long statics(int by) {
        return (long) TOTAL.getAndAddAcquire((long) by);
    }

    void elements(int which, String to) {
        NAMES.getAndSet(names, which, to);
    }

    void inherited() {
        SUM.getAndAdd(this, 2);
    }

    private static void failing(String what, Runnable it) {
        try {
            it.run();
            System.out.println(what + " passed");
        } catch (RuntimeException e) {
            System.out.println(what + " " + e.getClass().getName());
        }
    }

    private static void exceptions(HandleKinds it) {
        HandleKinds none = null;
        Object other = "other";
        VarHandle noHandle = none == null ? null : SUM;
        failing("null object", () -> SUM.setVolatile(none, 1));
        failing("null handle", () -> noHandle.setVolatile(it, 1));
        failing("other class", () -> SUM.getAndAdd((HandleKinds0) other, 1));
        failing("index", () -> NAMES.setVolatile(it.names, 2, "c"));
        failing("negative", () -> NAMES.getVolatile(it.names, -1));
        failing("null array", () -> NAMES.setRelease((String[]) null, 0, "c"));
        failing("final", () -> FIXED.setVolatile(it, 5));
        failing("type", () -> SUM.setVolatile(it, "text"));
        failing("exact", () -> RATE.setVolatile(it, 1));
        failing("mode", () -> LEVEL.getAndAdd(it, "1"));
    }

    private static void modes(HandleKinds it) {
        LEVEL.setOpaque(it, (byte) 3);
        byte was = (byte) LEVEL.compareAndExchangeAcquire(it, (byte) 3, (byte) 5);
        byte now = (byte) LEVEL.getAndBitwiseOrRelease(it, (byte) 8);
        RATE.setVolatile(it, 0.5);
        double half = (double) RATE.compareAndExchange(it, 0.25, 1.0);
        boolean swapped = RATE.weakCompareAndSetPlain(it, 0.25, 1.0);
        while (!RATE.weakCompareAndSet(it, 0.5, 2.0)) {
            Thread.onSpinWait();
        }
        double two = (double) RATE.compareAndExchangeRelease(it, 2.0, 4.0);
        double four = (double) RATE.get(it);
        LEVEL.set(it, (byte) 1);
        System.out.println(was + " " + now + " " + half + " " + swapped + " " + two + " " + four + " " + it.level
                + " " + (int) FIXED.get(it) + " " + TOTAL.varType());
    }

    private static void reflection(Class<?> of) {
        int methods = 0;
        for (Method method : of.getDeclaredMethods()) {
            if (!method.isSynthetic()) {
                methods++;
            }
            if (method.getName().startsWith("$pace")) {
                System.out.println(method);
            }
        }
        System.out.println(of.getName() + " " + methods);
    }

    public static void main(String[] args) throws InterruptedException {
        HandleKinds it = new HandleKinds();
        Tally tally = () -> it.counts;
        modes(it);
        exceptions(it);
        System.out.println("early");
        System.out.println((int) LATE.getAndAdd(1));
        int[] exchanged = new int[2];
        Workers.all(2, me -> {
            for (int i = 0; i < 100; i++) {
                if (it.exchange((String) NAME.getAcquire(it), me + " " + i)) {
                    exchanged[me]++;
                }
                it.statics(i);
                it.elements(i % 2, "by " + me);
                it.inherited();
                tally.next(i % 3);
                LATE.getAndAdd(1);
            }
        });
        System.out.println(total + " " + it.sum + " " + Late.value + " " + it.counts[0]);
        System.out.println(exchanged[0] > 0);
        reflection(HandleKinds.class);
        reflection(Tally.class);
    }
}

class HandleKinds0 {
    protected int sum;
}
