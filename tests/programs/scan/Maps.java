// Concurrent maps that are asked and then changed.
package maps;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

class Cache {
    private final ConcurrentMap<String, Integer> map = new ConcurrentHashMap<>();
    private final Map<String, Integer> hidden = new ConcurrentHashMap<>();
    private final Map<String, Integer> plain = new HashMap<>();

    int getThenPut(String key) {
        Integer value = map.get(key);
        if (value == null) {
            value = key.length();
            map.put(key, value); // WARN map-check-then-act high
        }
        return value;
    }

    void count(String key) {
        map.put(key, map.get(key) + 1); // WARN map-check-then-act high
    }

    void containsThenRemove(String key) {
        if (map.containsKey(key)) {
            map.remove(key); // WARN map-check-then-act high
        }
    }

    void hiddenBehindInterface() {
        if (!hidden.containsKey("x")) {
            hidden.put("x", 1); // WARN map-check-then-act high
        }
    }

    void parameter(ConcurrentMap<Integer, Integer> m, int key) {
        if (m.get(key) == null) {
            m.put(key, 1); // WARN map-check-then-act medium
        }
    }

    void differentKeys(String key, String other) {
        if (map.get(key) == null) {
            map.put(other, 1);
        }
    }

    void keyChanged(String key, String other) {
        if (map.get(key) == null) {
            key = other;
            map.put(key, 1);
        }
    }

    void atomically(String key) {
        if (map.get(key) == null) {
            map.putIfAbsent(key, 1);
        }
        map.computeIfAbsent(key, String::length);
    }

    void locked(String key) {
        synchronized (map) {
            if (map.get(key) == null) {
                map.put(key, 1);
            }
        }
    }

    private void onlyCalledLocked(String key) {
        if (map.get(key) == null) {
            map.put(key, 1);
        }
    }

    private void alsoOnlyCalledLocked(String key) {
        onlyCalledLocked(key);
    }

    synchronized void callsLocked(String key) {
        onlyCalledLocked(key);
        alsoOnlyCalledLocked(key);
    }

    private void calledBothWays(String key) {
        if (map.get(key) == null) {
            map.put(key, 1); // WARN map-check-then-act high
        }
    }

    synchronized void callsBothLocked(String key) {
        calledBothWays(key);
    }

    void callsBothUnlocked(String key) {
        calledBothWays(key);
    }

    void plainMap(String key) {
        if (plain.get(key) == null) {
            plain.put(key, 1);
        }
    }

    Map<String, Integer> fresh(String key) {
        ConcurrentMap<String, Integer> own = new ConcurrentHashMap<>();
        if (own.get(key) == null) {
            own.put(key, 1);
        }
        return own;
    }
}
