// A value is read under one lock and used under another: it is stale by then. Each field has its
// lock, so there is no race.
// atomic: TwoLocks.mirror, TwoLocks.change
// expect: violation TwoLocks.mirror
// on: TwoLocks, Object

final class TwoLocks {
    private final Object sourceLock = new Object();
    private final Object copyLock = new Object();
    private int source = 1;
    private int copy = 1;

    void mirror(Runnable middle) {
        int seen;
        synchronized (sourceLock) {
            seen = source;
        }
        middle.run();
        synchronized (copyLock) {
            copy = seen;
        }
    }

    void change(int value) {
        synchronized (sourceLock) {
            source = value;
        }
        synchronized (copyLock) {
            copy = value;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        TwoLocks it = new TwoLocks();
        Between.force(it::mirror, me -> it.change(2));
        System.out.println(it.source + " " + it.copy);
    }
}
