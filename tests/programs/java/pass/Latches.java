// Workers wait for a gate, publish, and count down; one reads what all have written.
// atomic: Latches.publish, Latches.collect

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

final class Latches {
    private static final int WORKERS = 4;
    private final CountDownLatch gate = new CountDownLatch(1);
    private final CountDownLatch done = new CountDownLatch(WORKERS);
    private final int[] slots = new int[WORKERS];
    private int plan;

    void publish(int me) {
        slots[me] = plan;
        Workers.mix();
        slots[me] += me;
        done.countDown();
    }

    int collect() throws InterruptedException {
        done.await();
        int sum = 0;
        for (int slot : slots) {
            sum += slot;
        }
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        int total = 0;
        for (int round = 0; round < 30; round++) {
            Latches it = new Latches();
            int[] sum = new int[1];
            int now = round;
            Workers.all(WORKERS + 2, me -> {
                if (me == WORKERS) {
                    sum[0] = it.collect();
                } else if (me > WORKERS) {
                    it.plan = now;
                    it.gate.countDown();
                } else if (it.gate.await(100, TimeUnit.SECONDS)) {
                    it.publish(me);
                }
            });
            total += sum[0];
        }
        System.out.println(total);
    }
}
