// Keys with an `equals` of their own and one hash code for all: `equals` distinguishes their entries.
// atomic: HashedKeys.step

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

final class HashedKeys {
    private static final class Key {
        private final int number;

        Key(int number) {
            this.number = number;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Key && ((Key) other).number == number;
        }

        @Override
        public int hashCode() {
            return 1;
        }
    }

    private final Map<Key, Integer> map = new ConcurrentHashMap<>();

    void step(Key key) {
        Integer old = map.get(key);
        Workers.mix();
        map.put(key, old + 1);
    }

    public static void main(String[] args) throws InterruptedException {
        HashedKeys it = new HashedKeys();
        it.map.put(new Key(0), 0);
        it.map.put(new Key(1), 0);
        Workers.all(2, me -> {
            for (int i = 0; i < 100; i++) {
                it.step(new Key(me));
            }
        });
        System.out.println(it.map.get(new Key(0)) + " " + it.map.get(new Key(1)));
    }
}
