// A lost update that does not happen: the reset comes late, but nothing keeps it out of the middle of the update.

final class Reset {
    private final Object lock = new Object();
    private int count = 1;

    private int count() {
        synchronized (lock) {
            return count;
        }
    }

    private void count(int value) {
        synchronized (lock) {
            count = value;
        }
    }

    /** Two sections of the lock: between them, another thread can write. */
    void add() {
        count(count() + 1);
    }

    void reset() {
        count(0);
    }

    public static void main(String[] args) throws InterruptedException {
        Reset it = new Reset();
        Workers.each(
                me -> it.add(),
                me -> {
                    Thread.sleep(300);
                    it.reset();
                });
        System.out.println(it.count());
    }
}
