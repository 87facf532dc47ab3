// A bounded buffer with a lock and two conditions. To wait is not atomic; what is done while the
// lock is held, and what the owner of an item does with it, is.
// atomic: Conditions.insert, Conditions.remove, Conditions.use

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

final class Conditions {
    private static final int ITEMS = 150;

    static final class Item {
        int uses;
        int value;
    }

    private final Lock lock = new ReentrantLock();
    private final Condition notFull = lock.newCondition();
    private final Condition notEmpty = lock.newCondition();
    private final Item[] items = new Item[4];
    private int first;
    private int count;

    private void insert(Item item) {
        items[(first + count) % items.length] = item;
        Workers.mix();
        count++;
        notEmpty.signal();
    }

    private Item remove() {
        Item item = items[first];
        Workers.mix();
        first = (first + 1) % items.length;
        count--;
        notFull.signalAll();
        return item;
    }

    void put(Item item) throws InterruptedException {
        lock.lock();
        try {
            while (count == items.length) {
                notFull.await();
            }
            insert(item);
        } finally {
            lock.unlock();
        }
    }

    Item take() throws InterruptedException {
        lock.lock();
        try {
            while (count == 0) {
                notEmpty.awaitUninterruptibly();
            }
            return remove();
        } finally {
            lock.unlock();
        }
    }

    static int use(Item item) {
        item.uses++;
        Workers.mix();
        item.value += item.uses;
        return item.value;
    }

    public static void main(String[] args) throws InterruptedException {
        Conditions buffer = new Conditions();
        int[] sums = new int[4];
        Workers.Body producer = me -> {
            for (int i = 0; i < ITEMS; i++) {
                Item item = new Item();
                item.value = i;
                use(item);
                buffer.put(item);
            }
        };
        Workers.Body consumer = me -> {
            for (int i = 0; i < ITEMS; i++) {
                sums[me] += use(buffer.take());
            }
        };
        Workers.each(producer, producer, consumer, consumer);
        System.out.println(sums[2] + sums[3]);
    }
}
