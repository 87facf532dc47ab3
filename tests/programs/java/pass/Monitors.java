// Synchronized methods, static ones and blocks; locks on arrays, classes and boxes; two locks held
// at once, always in the same order.
// atomic: Monitors.both, Monitors.block, Monitors.boxed, Monitors.count, Monitors.onClass, Monitors.nested

final class Monitors {
    private static int total;
    private static int onClass;
    private final int[] cells = new int[2];
    private final Object box = new Object();
    private int plus;
    private int minus;
    private int boxed;

    synchronized void both(int by) {
        plus += by;
        Workers.mix();
        minus -= by;
    }

    int block(int by) {
        synchronized (cells) {
            cells[0] += by;
            Workers.mix();
            return cells[0];
        }
    }

    void boxed() {
        synchronized (box) {
            int old = boxed;
            Workers.mix();
            boxed = old + 1;
        }
    }

    static synchronized void count() {
        total++;
        Workers.mix();
        total++;
    }

    static void onClass() {
        synchronized (String.class) {
            onClass++;
            Workers.mix();
            onClass++;
        }
    }

    void nested() {
        synchronized (this) {
            plus++;
            synchronized (cells) {
                Workers.mix();
                cells[1]++;
            }
            minus--;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Monitors it = new Monitors();
        Workers.all(4, me -> {
            for (int i = 0; i < 100; i++) {
                it.both(me);
                it.block(2);
                it.boxed();
                count();
                onClass();
                it.nested();
            }
        });
        System.out.println(it.plus + " " + it.minus + " " + it.cells[0] + " " + it.cells[1]);
        System.out.println(it.boxed + " " + total + " " + onClass);
    }
}
