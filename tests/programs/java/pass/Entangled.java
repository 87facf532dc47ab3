// A thread waits inside a call of a map for another one, which then calls the map about the same entry.
// atomic: Entangled.set
// property: atomicity

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

final class Entangled {
    private final Map<String, Integer> map = new ConcurrentHashMap<>();

    void set(int value) {
        map.put("key", value);
    }

    int change(Turn turn, Thread other) {
        return map.compute("key", (key, old) -> {
            turn.give();
            while (other.getState() != Thread.State.BLOCKED) {
                Thread.onSpinWait();
            }
            return map.get(key) + 1;
        });
    }

    public static void main(String[] args) throws InterruptedException {
        Entangled it = new Entangled();
        it.map.put("key", 0);
        Turn turn = new Turn();
        Thread other = new Thread(() -> {
            turn.await();
            it.set(5);
        });
        other.start();
        int changed = it.change(turn, other);
        other.join();
        System.out.println(changed + " " + it.map.get("key"));
    }
}
