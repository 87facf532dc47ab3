// A lock made from sun.misc.Unsafe: not understood, so that races are warnings.
// atomic: UnsafeAccess.critical
// gap: sun.misc.Unsafe.compareAndSwapInt

import java.lang.reflect.Field;
import sun.misc.Unsafe;

final class UnsafeAccess {
    private static final Unsafe UNSAFE;
    private static final long LOCK;

    static {
        try {
            Field instance = Unsafe.class.getDeclaredField("theUnsafe");
            instance.setAccessible(true);
            UNSAFE = (Unsafe) instance.get(null);
            LOCK = UNSAFE.objectFieldOffset(UnsafeAccess.class.getDeclaredField("lock"));
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private volatile int lock;
    private int x;

    void critical() {
        int old = x;
        Workers.mix();
        x = old + 1;
    }

    public static void main(String[] args) throws InterruptedException {
        UnsafeAccess it = new UnsafeAccess();
        Workers.all(2, me -> {
            for (int i = 0; i < 50; i++) {
                while (!UNSAFE.compareAndSwapInt(it, LOCK, 0, 1)) {
                    Thread.yield();
                }
                it.critical();
                UNSAFE.putOrderedInt(it, LOCK, 0);
            }
        });
        System.out.println(it.x);
    }
}
