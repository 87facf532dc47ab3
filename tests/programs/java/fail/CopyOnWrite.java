// A listener is registered if it is not there yet, in two steps on a copy-on-write list.
// atomic: CopyOnWrite.register
// expect: violation CopyOnWrite.register
// on: CopyOnWriteArrayList

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

final class CopyOnWrite {
    private final List<String> listeners = new CopyOnWriteArrayList<>();

    void register(String listener, Runnable middle) {
        if (!listeners.contains(listener)) {
            middle.run();
            listeners.add(listener);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        CopyOnWrite it = new CopyOnWrite();
        Between.force(
                middle -> it.register("me", middle), me -> it.register("me", Between::nothing));
        System.out.println(it.listeners);
    }
}
