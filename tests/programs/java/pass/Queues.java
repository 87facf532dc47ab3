// Items handed over through blocking queues of every kind; the thread that has an item uses it without a
// lock.
// atomic: Queues.use, Queues.produce, Queues.consume

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;

final class Queues {
    private static final int ITEMS = 60;

    static final class Item implements Comparable<Item> {
        int uses;
        int value;

        @Override
        public int compareTo(Item other) {
            return 0;
        }
    }

    static int use(Item item) {
        item.uses++;
        Workers.mix();
        item.value += item.uses;
        return item.value;
    }

    /** Everything before the item is out of hand. */
    static boolean produce(BlockingQueue<Item> queue, int value) throws InterruptedException {
        Item item = new Item();
        item.value = value;
        use(item);
        return queue.offer(item, 100, TimeUnit.SECONDS);
    }

    /** Everything after the item is in hand. */
    static int consume(BlockingQueue<Item> queue) throws InterruptedException {
        return use(queue.take());
    }

    private static int run(BlockingQueue<Item> queue) throws InterruptedException {
        int[] sums = new int[4];
        Workers.Body producer = me -> {
            for (int i = 0; i < ITEMS; i += 2) {
                produce(queue, i);
                Item item = new Item();
                use(item);
                queue.put(item);
            }
        };
        Workers.Body consumer = me -> {
            for (int i = 0; i < ITEMS; i += 2) {
                sums[me] += consume(queue);
                Item item = queue.poll();
                sums[me] += use(item != null ? item : queue.poll(100, TimeUnit.SECONDS));
            }
        };
        Workers.each(producer, producer, consumer, consumer);
        return sums[2] + sums[3];
    }

    public static void main(String[] args) throws InterruptedException {
        System.out.println(run(new ArrayBlockingQueue<>(4)));
        System.out.println(run(new LinkedBlockingQueue<>()));
        System.out.println(run(new LinkedBlockingDeque<>(3)));
        System.out.println(run(new PriorityBlockingQueue<>()));
        System.out.println(run(new SynchronousQueue<>()));
        System.out.println(run(new LinkedTransferQueue<>()));
    }
}
