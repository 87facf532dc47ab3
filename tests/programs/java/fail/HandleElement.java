// The element of an array is read by index and written through a VarHandle, and another thread comes between.
// atomic: HandleElement.next
// expect: violation HandleElement.next
// on: int[]

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

final class HandleElement {
    private static final VarHandle SLOTS = MethodHandles.arrayElementVarHandle(int[].class);

    private final int[] slots = new int[3];

    int next(int which, Runnable middle) {
        int mine = slots[which];
        middle.run();
        SLOTS.setVolatile(slots, which, mine + 1);
        return mine;
    }

    public static void main(String[] args) throws InterruptedException {
        HandleElement it = new HandleElement();
        int[] seen = new int[2];
        Between.force(
                middle -> seen[0] = it.next(1, middle),
                me -> seen[1] = it.next(1, Between::nothing));
        System.out.println(seen[0] + " " + seen[1] + " " + it.slots[1]);
    }
}
