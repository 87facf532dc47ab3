// An entry of a map whose key is a record is looked for and then set. The other thread has an equal key.
// atomic: RecordKeys.count
// expect: violation RecordKeys.count
// on: ConcurrentHashMap

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

final class RecordKeys {
    record Word(String text, int length) {}

    private final Map<Word, Integer> counts = new ConcurrentHashMap<>();

    void count(String text, Runnable middle) {
        Integer old = counts.get(new Word(text, text.length()));
        middle.run();
        counts.put(new Word(text, text.length()), old == null ? 1 : old + 1);
    }

    public static void main(String[] args) throws InterruptedException {
        RecordKeys it = new RecordKeys();
        Between.force(
                middle -> it.count("again", middle), me -> it.count("again", Between::nothing));
        System.out.println(it.counts.get(new Word("again", 5)));
    }
}
