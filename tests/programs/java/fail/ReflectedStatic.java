// A static field is read by name and written by reflection, and another thread comes between.
// atomic: ReflectedStatic.next
// expect: violation ReflectedStatic.next
// on: ReflectedStatic.count

import java.lang.reflect.Field;

final class ReflectedStatic {
    private static volatile Integer count = 0;

    static int next(Runnable middle) throws ReflectiveOperationException {
        Field field = ReflectedStatic.class.getDeclaredField("count");
        int mine = count;
        middle.run();
        field.set(null, mine + 1);
        return mine;
    }

    public static void main(String[] args) throws InterruptedException {
        int[] seen = new int[2];
        Between.force(middle -> seen[0] = next(middle), me -> seen[1] = next(Between::nothing));
        System.out.println(seen[0] + " " + seen[1] + " " + count);
    }
}
