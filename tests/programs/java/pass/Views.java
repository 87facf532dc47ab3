// Concurrent collections through the types that they have in common with others: each call is one step, and
// what is put into one is safe for the thread that takes it out.
// atomic: Views.seen, Views.drop, Views.once, Views.give, Views.take, Views.other

import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.LinkedBlockingQueue;

final class Views {
    record Name(String text) {}

    static final class Box {
        int value;
    }

    private final Set<Name> names = ConcurrentHashMap.newKeySet();
    private final Collection<Integer> sorted = new ConcurrentSkipListSet<>();
    private final Set<String> copied = new CopyOnWriteArraySet<>();
    private final ConcurrentLinkedQueue<Box> linked = new ConcurrentLinkedQueue<>();
    private final Deque<Box> deque = new ConcurrentLinkedDeque<>();
    private final Collection<Box> blocking = new LinkedBlockingQueue<>();

    boolean seen(int which) {
        return names.contains(new Name("n" + which % 5));
    }

    boolean drop(int which) {
        return names.remove(new Name("n" + which % 5));
    }

    boolean once(int which) {
        return names.add(new Name("n" + which % 5));
    }

    static void give(Collection<Box> to, int value) {
        Box box = new Box();
        box.value = value;
        to.add(box);
    }

    static int take(Queue<Box> from) {
        Box box = from.poll();
        return box == null ? 0 : ++box.value;
    }

    static int other(Collection<String> names, int which) {
        names.add("n" + which);
        return names.size();
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] args) throws InterruptedException {
        Views it = new Views();
        int[] sums = new int[2];
        Workers.all(2, me -> {
            List<String> own = new ArrayList<>();
            Set<String> mine = new HashSet<>();
            for (int i = 0; i < 100; i++) {
                it.once(i);
                it.seen(i);
                it.drop(i + 1);
                it.sorted.add(i);
                it.sorted.remove(i + 1);
                it.copied.add("c" + i % 3);
                give(me == 0 ? it.linked : it.deque, i);
                give(it.blocking, i);
                sums[me] += take(me == 0 ? it.deque : it.linked);
                sums[me] += take((Queue<Box>) it.blocking);
                Box box = it.linked.poll();
                sums[me] += box == null ? 0 : box.value;
                sums[me] += other(own, i) + other(mine, i);
            }
        });
        System.out.println(it.copied.size() + " " + it.copied.contains("c1") + " " + (sums[0] > 0));
    }
}
