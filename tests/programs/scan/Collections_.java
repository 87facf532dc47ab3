// Collections.synchronizedX.
package collections_;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

class Listeners {
    private final List<String> list = Collections.synchronizedList(new ArrayList<>());
    private final Map<String, String> map = Collections.synchronizedMap(new HashMap<>());
    private final List<String> plain = new ArrayList<>();

    void addOnce(String s) {
        if (!list.contains(s)) {
            list.add(s); // WARN collection-check-then-act high
        }
    }

    void putOnce(String s) {
        if (!map.containsKey(s)) {
            map.put(s, s); // WARN collection-check-then-act high
        }
    }

    void addOnceLocked(String s) {
        synchronized (list) {
            if (!list.contains(s)) {
                list.add(s);
            }
        }
    }

    int iterate() {
        int n = 0;
        for (String s : list) { // WARN collection-iteration high
            n += s.length();
        }
        return n;
    }

    int iterateLocked() {
        int n = 0;
        synchronized (list) {
            for (String s : list) {
                n += s.length();
            }
        }
        return n;
    }

    void onlyAdd(String s) {
        list.add(s);
        list.add(s);
    }

    void plainList(String s) {
        if (!plain.contains(s)) {
            plain.add(s);
        }
    }

    int local() {
        List<String> own = Collections.synchronizedList(new ArrayList<>());
        if (own.isEmpty()) {
            own.add("x");
        }
        return own.size();
    }
}
