// Thread-safe objects that are asked and then changed, and the right ways to do it.
package checkthenact;

import java.util.Collections;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.ArrayList;
import java.util.Properties;
import java.util.Queue;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

class Queues {
    private final Queue<String> queue = new ConcurrentLinkedQueue<>();
    private final BlockingQueue<String> bounded = new LinkedBlockingQueue<>();

    int pollUnchecked() {
        if (queue.isEmpty()) return 0;
        return queue.poll().length(); // WARN collection-check-then-act high
    }

    int pollChecked() {
        while (!queue.isEmpty()) {
            String s = queue.poll();
            if (s != null) return s.length();
        }
        return 0;
    }

    String removeWhilePeeking() {
        if (queue.peek() != null) return queue.remove(); // WARN collection-check-then-act high
        return null;
    }

    void limit(String s) {
        if (bounded.size() < 10) bounded.add(s); // WARN collection-check-then-act high
    }

    String takeIfAny() throws InterruptedException {
        if (bounded.size() > 0) return bounded.take(); // WARN collection-check-then-act high
        return null;
    }

    void unrelated(String s) {
        int before = queue.size();
        queue.add(s);
        System.out.println(before);
    }
}

class Lists {
    private final List<String> copied = new CopyOnWriteArrayList<>();
    private final Vector<String> vector = new Vector<>();
    private final Hashtable<String, String> table = new Hashtable<>();
    private final Set<String> sorted = new ConcurrentSkipListSet<>();

    String last() {
        return copied.get(copied.size() - 1); // WARN collection-check-then-act high
    }

    void addOnce(String s) {
        if (!copied.contains(s)) copied.add(s); // WARN collection-check-then-act high
    }

    String lastOfVector() {
        if (vector.isEmpty()) return null;
        return vector.lastElement(); // WARN collection-check-then-act medium
    }

    String lastOfVectorLocked() {
        synchronized (vector) {
            if (vector.isEmpty()) return null;
            return vector.lastElement();
        }
    }

    String cached(String key) {
        String value = table.get(key);
        if (value == null) {
            value = key.trim();
            table.put(key, value); // WARN collection-check-then-act medium
        }
        return value;
    }

    void announce(String s) {
        if (!sorted.contains(s)) {
            sorted.add(s); // WARN collection-check-then-act medium
            System.out.println(s);
        }
    }

    synchronized void givenVector(Vector<String> given) {
        if (!given.contains("x")) given.add("x"); // WARN collection-check-then-act medium
    }

    synchronized void ownVector() {
        if (!vector.contains("x")) vector.add("x");
    }
}

class Views {
    private final Map<String, String> map = Collections.synchronizedMap(new java.util.HashMap<>());

    int iterateView() {
        int n = 0;
        for (String key : map.keySet()) n += key.length(); // WARN collection-iteration high
        return n;
    }

    int iterateViewLocked() {
        int n = 0;
        synchronized (map) {
            for (String key : map.keySet()) n += key.length();
        }
        return n;
    }
}

class Registry extends ConcurrentHashMap<String, Object> {
    void own(String key) {
        if (!containsKey(key)) put(key, key); // WARN map-check-then-act high
    }
}

class Keys {
    private final ConcurrentMap<String, Object> map = new ConcurrentHashMap<>();
    private final Map<String, Object> made = make();
    private final Registry registry = new Registry();

    private static Map<String, Object> make() {
        return new ConcurrentHashMap<>();
    }

    Object computedTwice(Class<?> type) {
        Object value = map.get(type.getName());
        if (value == null) {
            value = new Object();
            map.put(type.getName(), value); // WARN map-check-then-act high
        }
        return value;
    }

    Object replacedBefore(String key) {
        if (key == null) key = "default";
        Object value = map.get(key);
        if (value == null) {
            value = new Object();
            map.put(key, value); // WARN map-check-then-act high
        }
        return value;
    }

    Object inLoop(List<String> keys) {
        Object last = null;
        for (String key : keys) {
            last = map.get(key);
            if (last == null) map.put(key, last = new Object()); // WARN map-check-then-act high
        }
        return last;
    }

    void factory(String key) {
        if (!made.containsKey(key)) made.put(key, key); // WARN map-check-then-act high
    }

    void subclass(String key) {
        if (registry.get(key) == null) registry.put(key, key); // WARN map-check-then-act high
    }

    int containsThenGet(String key) {
        if (map.containsKey(key)) return map.get(key).hashCode(); // WARN map-check-then-act high
        return 0;
    }

    Object getWithoutUse(String key, Object value) {
        Object old = map.get(key);
        map.put(key, value);
        return old;
    }

    Object lockedLater(String key) {
        Object value = map.get(key);
        if (value == null) {
            synchronized (this) {
                value = new Object();
                map.put(key, value); // WARN map-check-then-act high
            }
        }
        return value;
    }

    Object checkedAgain(String key) {
        Object value = map.get(key);
        if (value == null) {
            synchronized (this) {
                value = map.get(key);
                if (value == null) {
                    value = new Object();
                    map.put(key, value);
                }
            }
        }
        return value;
    }
}

class Holder {
    private static class State {
        private final Map<String, Object> cache = new ConcurrentHashMap<>();
    }

    Object nested(State state, String key) {
        Object value = state.cache.get(key);
        if (value == null) {
            value = new Object();
            state.cache.put(key, value); // WARN map-check-then-act medium
        }
        return value;
    }
}

class Helped {
    private final ConcurrentMap<String, Object> map = new ConcurrentHashMap<>();

    private boolean has(String key) {
        return map.containsKey(key);
    }

    private void add(String key) {
        map.put(key, key);
    }

    void once(String key) {
        if (!has(key)) add(key); // WARN map-check-then-act high
    }

    synchronized void onceLocked(String key) {
        if (!has(key)) add(key);
    }

    Object orElse(String key) {
        return java.util.Optional.ofNullable(map.get(key)).orElseGet(() -> map.put(key, "new")); // WARN map-check-then-act high
    }
}

class Ignored {
    private final ConcurrentMap<String, List<String>> map = new ConcurrentHashMap<>();

    void dropped(String key, String value) {
        List<String> list = new ArrayList<>();
        map.putIfAbsent(key, list); // WARN ignored-put-if-absent high
        list.add(value);
    }

    void used(String key, String value) {
        List<String> list = new ArrayList<>();
        List<String> old = map.putIfAbsent(key, list);
        (old == null ? list : old).add(value);
    }

    List<String> askedAgain(String key) {
        List<String> list = map.get(key);
        if (list == null) {
            list = new ArrayList<>();
            map.putIfAbsent(key, list);
            list = map.get(key);
        }
        return list;
    }

    void onlyOffered(String key) {
        map.putIfAbsent(key, new ArrayList<>());
    }
}

class Atomics {
    private final AtomicInteger count = new AtomicInteger();
    private final AtomicBoolean started = new AtomicBoolean();
    private final AtomicReference<String> name = new AtomicReference<>();

    void limited() {
        if (count.get() < 10) count.incrementAndGet(); // WARN atomic-check-then-act high
    }

    boolean limitedWithRetry() {
        if (count.get() >= 10) return false;
        if (count.incrementAndGet() > 10) {
            count.decrementAndGet();
            return false;
        }
        return true;
    }

    void doubled() {
        count.set(count.get() * 2); // WARN atomic-check-then-act high
    }

    void start() {
        if (!started.get()) started.set(true); // WARN atomic-check-then-act high
    }

    void startOnce() {
        if (started.compareAndSet(false, true)) System.out.println("started");
    }

    String named() {
        String old = name.get();
        while (old == null && !name.compareAndSet(null, "x")) old = name.get();
        return old;
    }
}
