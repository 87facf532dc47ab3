// Functions that maps and atomics call: they throw, use other maps and locks, start threads, and call the
// same object again.
// atomic: Functions.count, Functions.nested, Functions.locked, Functions.again, Functions.failing

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;

final class Functions {
    private final Map<String, Integer> counts = new ConcurrentHashMap<>();
    private final Map<Integer, Map<String, Integer>> nested = new ConcurrentHashMap<>();
    private final AtomicReference<String> last = new AtomicReference<>("");
    private final ReentrantLock lock = new ReentrantLock();
    private int guarded;

    void count(String what) {
        counts.merge(what, 1, Integer::sum);
    }

    void nested(int which) {
        nested.computeIfAbsent(which % 3, key -> {
            Map<String, Integer> inner = new ConcurrentHashMap<>();
            inner.computeIfAbsent("made", text -> which);
            return inner;
        });
    }

    void locked(String what) {
        counts.compute(what, (key, old) -> {
            lock.lock();
            try {
                guarded++;
            } finally {
                lock.unlock();
            }
            return old == null ? 1 : old + 1;
        });
    }

    void again(int me) {
        last.updateAndGet(old -> me + last.get().substring(0, Math.min(3, old.length())));
    }

    void failing(int which) {
        try {
            counts.compute("never", (key, old) -> {
                throw new IllegalStateException("" + which);
            });
        } catch (IllegalStateException e) {
            count("failed");
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Functions it = new Functions();
        Workers.all(3, me -> {
            for (int i = 0; i < 60; i++) {
                it.count("all");
                it.nested(i);
                it.locked("locked");
                it.failing(i);
                if (me == 0) {
                    it.again(i);
                }
            }
        });
        Map<String, Integer> one = new ConcurrentHashMap<>();
        one.computeIfAbsent("thread", key -> {
            Thread thread = new Thread(() -> it.count("child"));
            thread.start();
            try {
                thread.join();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return it.counts.get("child");
        });
        System.out.println(it.counts.get("all") + " " + it.counts.get("locked") + " " + it.guarded
                + " " + it.counts.get("failed") + " " + it.nested.size() + " " + one);
        System.out.println(it.last.get().length() > 1);
    }
}
