// Calls of concurrent maps that change nothing are reads: what is there already, or is not there at all.
// Keys are records, lists, dates and large numbers: equal, but never the same object.
// atomic: MapReads.absent, MapReads.present, MapReads.gone, MapReads.set

import java.math.BigInteger;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

final class MapReads {
    record Point(int x, List<String> names) {}

    private final Map<Object, String> map = new ConcurrentHashMap<>();
    private final CopyOnWriteArrayList<Object> list = new CopyOnWriteArrayList<>();

    private static Object key(int which) {
        switch (which % 4) {
            case 0:
                return new Point(which, List.of("a", "b"));
            case 1:
                return List.of(which, "c");
            case 2:
                return LocalDate.of(2000 + which, 1, 1);
            default:
                return BigInteger.TEN.pow(20 + which);
        }
    }

    void absent(int which) {
        map.computeIfAbsent(key(which), key -> "new");
        Workers.mix();
        map.putIfAbsent(key(which), "other");
    }

    void present(int which) {
        map.replace(key(which), "not there", "never");
        Workers.mix();
        map.remove(key(which), "not there");
    }

    void gone(int which) {
        map.remove(key(which + 8));
        Workers.mix();
        map.replace(key(which + 8), "never");
    }

    void set(int which) {
        list.addIfAbsent(key(which));
        Workers.mix();
        list.remove(key(which + 8));
    }

    public static void main(String[] args) throws InterruptedException {
        MapReads it = new MapReads();
        for (int i = 0; i < 8; i++) {
            it.map.put(key(i), "old " + i);
            it.list.add(key(i));
        }
        Workers.all(2, me -> {
            for (int i = 0; i < 160; i++) {
                it.absent(i % 8);
                it.present(i % 8);
                it.gone(i % 8);
                it.set(i % 8);
            }
        });
        System.out.println(it.map.get(key(0)) + " " + it.map.get(key(7)) + " " + it.list.get(5));
    }
}
