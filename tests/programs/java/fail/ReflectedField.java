// A field is read by reflection and written by name, and another thread comes between.
// atomic: ReflectedField.next
// expect: violation ReflectedField.next
// on: ReflectedField.next

import java.lang.reflect.Field;

final class ReflectedField {
    private int next;

    int next(Runnable middle) throws ReflectiveOperationException {
        Field field = ReflectedField.class.getDeclaredField("next");
        int mine = field.getInt(this);
        middle.run();
        next = mine + 1;
        return mine;
    }

    public static void main(String[] args) throws InterruptedException {
        ReflectedField it = new ReflectedField();
        int[] seen = new int[2];
        Between.force(
                middle -> seen[0] = it.next(middle), me -> seen[1] = it.next(Between::nothing));
        System.out.println(seen[0] + " " + seen[1] + " " + it.next);
    }
}
