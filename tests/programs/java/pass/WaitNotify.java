// Boxes go to and fro between a producer and consumers through monitors with wait and notify.
// The thread that has a box uses it without a lock, which a lockset analysis takes for a bug.
// atomic: WaitNotify.fill, WaitNotify.drain, WaitNotify.offer

final class WaitNotify {
    private static final int BOXES = 200;

    static final class Box {
        int count;
        int sum;
    }

    private Box content;

    synchronized void put(Box box) throws InterruptedException {
        while (content != null) {
            wait();
        }
        content = box;
        notifyAll();
    }

    synchronized Box take() throws InterruptedException {
        while (content == null) {
            wait(1000);
        }
        Box box = content;
        content = null;
        notifyAll();
        return box;
    }

    synchronized boolean offer(Box box) {
        if (content != null) {
            return false;
        }
        Workers.mix();
        content = box;
        notifyAll();
        return true;
    }

    static void fill(Box box, int by) {
        box.count++;
        Workers.mix();
        box.sum += by;
    }

    static int drain(Box box) {
        int sum = box.sum;
        Workers.mix();
        box.sum = 0;
        return sum + 0 * box.count;
    }

    public static void main(String[] args) throws InterruptedException {
        WaitNotify full = new WaitNotify();
        WaitNotify empty = new WaitNotify();
        empty.put(new Box());
        int[] sums = new int[2];
        Workers.each(
                me -> {
                    for (int i = 0; i < 2 * BOXES; i++) {
                        Box box = empty.take();
                        fill(box, i);
                        while (!full.offer(box)) {
                            Thread.yield();
                        }
                    }
                },
                me -> consume(full, empty, sums, 0),
                me -> consume(full, empty, sums, 1));
        System.out.println(sums[0] + sums[1]);
    }

    private static void consume(WaitNotify full, WaitNotify empty, int[] sums, int me)
            throws InterruptedException {
        for (int i = 0; i < BOXES; i++) {
            Box box = full.take();
            sums[me] += drain(box);
            empty.put(box);
        }
    }
}
