// A plain field is written by reflection while another thread reads it: a race, on the field itself.
// property: race
// expect: race
// on: ReflectedRace.value

import java.lang.reflect.Field;

final class ReflectedRace {
    private Object value = "first";

    public static void main(String[] args) throws InterruptedException {
        ReflectedRace it = new ReflectedRace();
        Object[] seen = new Object[1];
        Between.force(
                middle -> {
                    Field field = ReflectedRace.class.getDeclaredField("value");
                    field.set(it, "second");
                    middle.run();
                },
                me -> seen[0] = it.value);
        System.out.println(seen[0]);
    }
}
