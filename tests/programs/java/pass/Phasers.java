// The same with a phaser: parties that come and go, and one that only arrives and does not wait.
// atomic: Phasers.step, Phasers.sum

import java.util.concurrent.Phaser;

final class Phasers {
    private static final int ROUNDS = 40;
    private final Phaser phaser = new Phaser(3);
    private final int[] cells = {1, 2, 3, 0};

    void step(int me, int round) {
        int seen = cells[(me + 1) % 3];
        Workers.mix();
        cells[3] += round % 3 == me ? seen : 0;
    }

    void change(int me) {
        cells[me]++;
    }

    int sum() {
        return cells[0] + cells[1] + cells[2] + cells[3];
    }

    public static void main(String[] args) throws InterruptedException {
        Phasers it = new Phasers();
        Workers.all(3, me -> {
            for (int round = 0; round < ROUNDS; round++) {
                if (round % 3 == me) {
                    it.step(me, round);
                }
                it.phaser.arriveAndAwaitAdvance();
                it.change(me);
                int phase = it.phaser.arrive();
                it.phaser.awaitAdvance(phase);
            }
            it.phaser.arriveAndDeregister();
        });
        System.out.println(it.sum() + " " + it.phaser.isTerminated());
    }
}
