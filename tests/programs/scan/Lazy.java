// Fields without a lock: volatile updates and lazy initialisation.
package lazy;

class Lazy {
    private static Object unlocked;
    private static volatile Object checkedTwice;
    private static volatile Object checkedOnce;
    private static final Object LOCK = new Object();
    private volatile int hits;
    private volatile Object cached;
    private int plain;

    static Object get() {
        if (unlocked == null) {
            unlocked = new Object(); // WARN lazy-init medium
        }
        return unlocked;
    }

    static Object getTwice() {
        if (checkedTwice == null) {
            synchronized (LOCK) {
                if (checkedTwice == null) {
                    checkedTwice = new Object();
                }
            }
        }
        return checkedTwice;
    }

    static Object getOnce() {
        if (checkedOnce == null) {
            synchronized (LOCK) {
                checkedOnce = new Object(); // WARN lazy-init high
            }
        }
        return checkedOnce;
    }

    static synchronized Object getLocked() {
        if (unlocked == null) {
            unlocked = new Object();
        }
        return unlocked;
    }

    void hit() {
        hits++; // WARN volatile-update high
    }

    synchronized void hitLocked() {
        hits++;
    }

    void scale(int n) {
        hits = Math.max(hits, n) + 1; // WARN volatile-update high
    }

    void overwrite(int n) {
        hits = n;
    }

    void plain() {
        plain++;
    }

    Object cached() {
        Object value = cached;
        if (value == null) {
            cached = value = new Object(); // WARN lazy-init medium
        }
        return value;
    }
}
