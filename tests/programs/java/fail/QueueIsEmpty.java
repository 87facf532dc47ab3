// The queue is not empty when it is asked, and empty when something is taken from it.
// atomic: QueueIsEmpty.take
// expect: violation QueueIsEmpty.take
// on: ConcurrentLinkedQueue

import java.util.concurrent.ConcurrentLinkedQueue;

final class QueueIsEmpty {
    private final ConcurrentLinkedQueue<Integer> queue = new ConcurrentLinkedQueue<>();

    int take(Runnable middle) {
        if (queue.isEmpty()) {
            return 0;
        }
        middle.run();
        Integer taken = queue.poll();
        return taken == null ? -1 : taken;
    }

    public static void main(String[] args) throws InterruptedException {
        QueueIsEmpty it = new QueueIsEmpty();
        it.queue.add(5);
        int[] seen = new int[2];
        Between.force(
                middle -> seen[0] = it.take(middle), me -> seen[1] = it.take(Between::nothing));
        System.out.println(seen[0] + " " + seen[1]);
    }
}
