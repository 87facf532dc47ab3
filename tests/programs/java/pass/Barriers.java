// Rounds of a computation on a ring, with a cyclic barrier between them whose action swaps the
// arrays. No lock protects an element: the rounds do.
// atomic: Barriers.step, Barriers.swap

import java.util.Arrays;
import java.util.concurrent.CyclicBarrier;

final class Barriers {
    private static final int CELLS = 4;
    private int[] now = {1, 2, 3, 4};
    private int[] next = new int[CELLS];
    private final CyclicBarrier barrier = new CyclicBarrier(CELLS, this::swap);

    private void swap() {
        int[] old = now;
        now = next;
        next = old;
    }

    void step(int me) {
        int left = now[(me + CELLS - 1) % CELLS];
        Workers.mix();
        next[me] = (left + now[me] * 2 + now[(me + 1) % CELLS]) % 1000;
    }

    public static void main(String[] args) throws InterruptedException {
        Barriers it = new Barriers();
        Workers.all(CELLS, me -> {
            for (int i = 0; i < 50; i++) {
                it.step(me);
                it.barrier.await();
            }
        });
        System.out.println(Arrays.toString(it.now));
    }
}
