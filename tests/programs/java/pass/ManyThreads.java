// A thousand threads at once, each of which waits for all others.
// atomic: ManyThreads.add

import java.util.concurrent.CountDownLatch;

final class ManyThreads {
    private static final int COUNT = 1000;
    private int sum;

    synchronized void add(int amount) {
        int before = sum;
        Workers.mix();
        sum = before + amount;
    }

    public static void main(String[] args) throws InterruptedException {
        ManyThreads all = new ManyThreads();
        CountDownLatch here = new CountDownLatch(COUNT);
        Workers.all(COUNT, me -> {
            all.add(1);
            here.countDown();
            here.await();
            all.add(1);
        });
        System.out.println(all.sum);
    }
}
