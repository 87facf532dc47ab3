// The element of an array is read by index and written by reflection, and another thread comes between.
// atomic: ReflectedElement.next
// expect: violation ReflectedElement.next
// on: long[]

import java.lang.reflect.Array;

final class ReflectedElement {
    private final long[] slots = new long[3];

    long next(int which, Runnable middle) {
        long mine = slots[which];
        middle.run();
        Array.setLong(slots, which, mine + 1);
        return mine;
    }

    public static void main(String[] args) throws InterruptedException {
        ReflectedElement it = new ReflectedElement();
        long[] seen = new long[2];
        Between.force(
                middle -> seen[0] = it.next(1, middle),
                me -> seen[1] = it.next(1, Between::nothing));
        System.out.println(seen[0] + " " + seen[1] + " " + it.slots[1]);
    }
}
