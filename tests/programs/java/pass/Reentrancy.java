// Locks taken again by their holder: only the outermost acquire and release count. Recursion,
// super calls, an exception out of the inner level, and a wait that gives up all levels at once.
// atomic: Reentrancy.twice, Reentrancy.down, Reentrancy.guarded, Reentrancy$Sub.add

class Reentrancy {
    protected int value;
    private boolean open;

    synchronized void add() {
        value++;
    }

    synchronized void twice() {
        add();
        Workers.mix();
        add();
    }

    synchronized void down(int levels) {
        value++;
        if (levels > 0) {
            Workers.mix();
            down(levels - 1);
        }
        value++;
    }

    private synchronized void fails() {
        value++;
        throw new IllegalArgumentException("inner");
    }

    synchronized boolean guarded() {
        int before = value;
        try {
            fails();
            return false;
        } catch (IllegalArgumentException e) {
            Workers.mix();
            return value == before + 1;
        }
    }

    synchronized void awaitOpen() throws InterruptedException {
        synchronized (this) {
            while (!open) {
                wait();
            }
        }
    }

    synchronized void open() {
        open = true;
        notifyAll();
    }

    static final class Sub extends Reentrancy {
        @Override
        synchronized void add() {
            super.add();
            Workers.mix();
            super.add();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Reentrancy base = new Reentrancy();
        Reentrancy sub = new Sub();
        boolean[] good = new boolean[3];
        Workers.all(4, me -> {
            if (me == 3) {
                base.open();
                return;
            }
            base.awaitOpen();
            good[me] = true;
            for (int i = 0; i < 100; i++) {
                base.twice();
                sub.twice();
                base.down(3);
                good[me] &= base.guarded();
            }
        });
        System.out.println(base.value + " " + sub.value + " " + good[0] + good[1] + good[2]);
    }
}
