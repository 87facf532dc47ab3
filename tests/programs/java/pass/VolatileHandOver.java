// The turn is handed over through a volatile field, as in the introduction of the Velodrome paper.
// There is no lock, so the Atomizer takes the unprotected read and write for a bug.
// atomic: VolatileHandOver.step

final class VolatileHandOver {
    private static final int THREADS = 3;
    private volatile int turn;
    private int x;

    void step(int next) {
        int old = x;
        Workers.mix();
        x = old + 1;
        turn = next;
    }

    public static void main(String[] args) throws InterruptedException {
        VolatileHandOver it = new VolatileHandOver();
        Workers.all(THREADS, me -> {
            for (int i = 0; i < 200; i++) {
                while (it.turn != me) {
                    Thread.onSpinWait();
                    Thread.yield();
                }
                it.step((me + 1) % THREADS);
            }
        });
        System.out.println(it.x);
    }
}
