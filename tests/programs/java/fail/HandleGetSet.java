// A VarHandle used by two volatile steps where one would do.
// atomic: HandleGetSet.next
// expect: violation HandleGetSet.next
// on: HandleGetSet

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

final class HandleGetSet {
    private static final VarHandle NEXT;

    static {
        try {
            NEXT = MethodHandles.lookup().findVarHandle(HandleGetSet.class, "next", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private int next;

    int next(Runnable middle) {
        int mine = (int) NEXT.getVolatile(this);
        middle.run();
        NEXT.setVolatile(this, mine + 1);
        return mine;
    }

    public static void main(String[] args) throws InterruptedException {
        HandleGetSet it = new HandleGetSet();
        int[] seen = new int[2];
        Between.force(
                middle -> seen[0] = it.next(middle), me -> seen[1] = it.next(Between::nothing));
        System.out.println(seen[0] + " " + seen[1] + " " + it.next);
    }
}
