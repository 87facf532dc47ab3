// Many virtual threads: synchronized, locks, hand-over through a queue, and join.
// needs: 21
// atomic: VirtualThreads.both, VirtualThreads.locked, VirtualThreads.use

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.ReentrantLock;

final class VirtualThreads {
    private final ReentrantLock lock = new ReentrantLock();
    private final LinkedBlockingQueue<int[]> queue = new LinkedBlockingQueue<>();
    private int plus;
    private int minus;
    private int locked;

    synchronized void both() {
        plus++;
        Workers.mix();
        minus--;
    }

    void locked() throws InterruptedException {
        lock.lock();
        try {
            int old = locked;
            Thread.sleep(0, 1000);
            locked = old + 1;
        } finally {
            lock.unlock();
        }
    }

    static int use(int[] box) {
        box[0]++;
        Workers.mix();
        return box[0]++;
    }

    public static void main(String[] args) throws Exception {
        VirtualThreads it = new VirtualThreads();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            threads.add(Thread.ofVirtual().name("virtual-" + i).start(() -> {
                try {
                    it.both();
                    it.locked();
                    int[] box = new int[1];
                    use(box);
                    it.queue.put(box);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }));
        }
        int sum = 0;
        for (int i = 0; i < 200; i++) {
            sum += use(it.queue.take());
        }
        for (Thread thread : threads) {
            thread.join();
        }
        try (ExecutorService pool = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Integer>> futures = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                futures.add(pool.submit(() -> use(new int[1])));
            }
            for (Future<Integer> future : futures) {
                sum += future.get();
            }
        }
        System.out.println(it.plus + " " + it.minus + " " + it.locked + " " + sum);
    }
}
