// A concurrent map: values made once by computeIfAbsent, counts by merge, and entries that are
// guarded by a lock for each key. Operations on different keys are independent, although they are
// on the same map.
// atomic: Maps.value, Maps.count, Maps.guarded

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

final class Maps {
    private static final int KEYS = 4;
    private final ConcurrentMap<String, int[]> values = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Integer, Integer> counts = new ConcurrentHashMap<>();
    private final Map<Integer, Integer> guarded = new ConcurrentHashMap<>();
    private final Object[] locks = new Object[KEYS];

    Maps() {
        for (int i = 0; i < KEYS; i++) {
            locks[i] = new Object();
        }
    }

    int value(String key) {
        int[] value = values.computeIfAbsent(key, it -> {
            Workers.mix();
            return new int[] {it.length()};
        });
        return value[0];
    }

    void count(int key) {
        counts.merge(key, 1, Integer::sum);
    }

    void guarded(int key) {
        synchronized (locks[key]) {
            Integer old = guarded.get(key);
            Workers.mix();
            guarded.put(key, old == null ? 1 : old + 1);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Maps it = new Maps();
        int[] sums = new int[4];
        Workers.all(4, me -> {
            for (int i = 0; i < 100; i++) {
                sums[me] += it.value("key" + i % 12);
                it.count(i % KEYS);
                it.guarded((i + me) % KEYS);
            }
        });
        System.out.println(sums[0] + sums[1] + sums[2] + sums[3]);
        System.out.println(it.counts + " " + new TreeMap<>(it.guarded));
    }
}
