// Each operation of a concurrent map is atomic, two of them together are not.
// atomic: MapCheckThenAct.register
// expect: violation MapCheckThenAct.register
// on: ConcurrentHashMap

import java.util.concurrent.ConcurrentHashMap;

final class MapCheckThenAct {
    private final ConcurrentHashMap<String, Integer> owners = new ConcurrentHashMap<>();

    boolean register(String name, int owner, Runnable middle) {
        if (owners.containsKey(name)) {
            return false;
        }
        middle.run();
        owners.put(name, owner);
        return true;
    }

    public static void main(String[] args) throws InterruptedException {
        MapCheckThenAct it = new MapCheckThenAct();
        boolean[] done = new boolean[2];
        Between.force(
                middle -> done[0] = it.register("name", 0, middle),
                me -> done[1] = it.register("name", 1, Between::nothing));
        System.out.println(done[0] + " " + done[1] + " " + it.owners);
    }
}
