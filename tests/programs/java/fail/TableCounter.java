// A count in a Hashtable: get and put are synchronized, the increment is not.
// atomic: TableCounter.count
// expect: violation TableCounter.count
// on: Hashtable

import java.util.Hashtable;

final class TableCounter {
    private final Hashtable<String, Integer> counts = new Hashtable<>();

    void count(String word, Runnable middle) {
        Integer old = counts.get(word);
        middle.run();
        counts.put(word, old == null ? 1 : old + 1);
    }

    public static void main(String[] args) throws InterruptedException {
        TableCounter it = new TableCounter();
        Between.force(middle -> it.count("word", middle), me -> it.count("word", Between::nothing));
        System.out.println(it.counts);
    }
}
