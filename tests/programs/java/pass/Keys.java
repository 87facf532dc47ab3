// Keys of a concurrent map that have one hash code but are not equal: each thread has its own entry.
// atomic: Keys.step

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

final class Keys {
    private enum Side {
        LEFT,
        RIGHT
    }

    /// Equal to itself only.
    private static final class Plain {
        @Override
        public int hashCode() {
            return 1;
        }
    }

    private static final Object[][] KEYS = {
        {1L, 1L << 32},
        {1, 1L},
        {(short) 1, (byte) 1},
        {'a', 97},
        {"Aa", "BB"},
        {Side.LEFT, Side.RIGHT},
        {new Plain(), new Plain()},
    };

    private final Map<Object, Integer> map = new ConcurrentHashMap<>();

    void step(Object key) {
        Integer old = map.get(key);
        Workers.mix();
        map.put(key, old + 1);
    }

    public static void main(String[] args) throws InterruptedException {
        for (Object[] pair : KEYS) {
            Keys it = new Keys();
            it.map.put(pair[0], 0);
            it.map.put(pair[1], 0);
            Workers.all(2, me -> {
                for (int i = 0; i < 50; i++) {
                    it.step(pair[me]);
                }
            });
            System.out.println(it.map.get(pair[0]) + " " + it.map.get(pair[1]));
        }
    }
}
