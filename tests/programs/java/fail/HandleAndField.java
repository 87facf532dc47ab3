// A field is read by name and written through a VarHandle, and another thread comes between.
// atomic: HandleAndField.next
// expect: violation HandleAndField.next
// on: HandleAndField.next

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

final class HandleAndField {
    private static final VarHandle NEXT;

    static {
        try {
            NEXT = MethodHandles.lookup().findVarHandle(HandleAndField.class, "next", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private volatile int next;

    int next(Runnable middle) {
        int mine = next;
        middle.run();
        NEXT.setRelease(this, mine + 1);
        return mine;
    }

    int all() {
        return (int) NEXT.getAndAdd(this, 1);
    }

    public static void main(String[] args) throws InterruptedException {
        HandleAndField it = new HandleAndField();
        int[] seen = new int[2];
        Between.force(middle -> seen[0] = it.next(middle), me -> seen[1] = it.all());
        System.out.println(seen[0] + " " + seen[1] + " " + it.next);
    }
}
