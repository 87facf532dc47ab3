package lib;

/** A thread that takes a number looks first and writes later. */
public final class Register {
    private int next;

    private synchronized int look() {
        return next;
    }

    private synchronized void write(int next) {
        this.next = next;
    }

    public int take(Runnable middle) {
        int mine = look();
        middle.run();
        write(mine + 1);
        return mine;
    }
}
