// A static field is read through a VarHandle and written by name, and another thread comes between.
// atomic: HandleOfStatic.next
// expect: violation HandleOfStatic.next
// on: HandleOfStatic.count

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

final class HandleOfStatic {
    private static final VarHandle COUNT;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            COUNT = lookup.findStaticVarHandle(HandleOfStatic.class, "count", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private static int count;

    static int next(Runnable middle) {
        int mine = (int) COUNT.getVolatile();
        middle.run();
        count = mine + 1;
        return mine;
    }

    public static void main(String[] args) throws InterruptedException {
        int[] seen = new int[2];
        Between.force(middle -> seen[0] = next(middle), me -> seen[1] = next(Between::nothing));
        System.out.println(seen[0] + " " + seen[1] + " " + count);
    }
}
