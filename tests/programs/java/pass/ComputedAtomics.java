// Functions given to `compute` and its like that touch atomics: their events are recorded while that
// of the map is pending, in every position of a buffer. (The agent wrote past the end of it.)
// property: race

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

final class ComputedAtomics {
    private static final int ROUNDS = 12_000;

    private final ConcurrentHashMap<String, AtomicInteger> made = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Integer, Integer> counts = new ConcurrentHashMap<>();
    private final AtomicInteger calls = new AtomicInteger();
    private final AtomicLong sum = new AtomicLong();

    /** One event of the map, and as many inside as the key says. */
    void count(int key) {
        counts.compute(key, (k, old) -> {
            for (int i = 0; i < k % 4; i++) {
                calls.incrementAndGet();
            }
            return old == null ? 1 : old + 1;
        });
    }

    /** The function runs once for each key. */
    AtomicInteger first(String key) {
        return made.computeIfAbsent(key, k -> {
            calls.incrementAndGet();
            return new AtomicInteger(k.length());
        });
    }

    /** A function within the function of another map. */
    void nested(int key) {
        counts.merge(key, 1, (a, b) -> {
            first("n" + a % 8).incrementAndGet();
            return a + b;
        });
    }

    /** An atomic object whose function touches another one. */
    void update(int by) {
        sum.updateAndGet(old -> old + by + (calls.get() & 1));
    }

    public static void main(String[] args) throws InterruptedException {
        ComputedAtomics it = new ComputedAtomics();
        Workers.all(2, me -> {
            for (int i = 0; i < ROUNDS; i++) {
                it.count(me * 8 + i % 8);
                it.first("k" + me * ROUNDS + i);
                it.nested(me * 8 + i % 8);
                it.update(1);
                if (i % 64 == 0) {
                    it.made.clear();
                }
            }
        });
        int total = 0;
        for (int key = 0; key < 16; key++) {
            total += it.counts.get(key);
        }
        System.out.println(total);
    }
}
