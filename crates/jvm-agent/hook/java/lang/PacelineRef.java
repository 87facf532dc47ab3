package java.lang;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;

/** The number of an object that has no word of ours: an entry of the table in PacelineObjects. */
final class PacelineRef extends WeakReference<Object> {
    final int hash;
    final long id;
    /** The number of its monitor, if it is used as one; else 0. */
    long monitor;
    /** For a condition the number of its lock; for a handle what it reaches. */
    long lock;
    PacelineRef next;

    PacelineRef(Object object, ReferenceQueue<Object> queue, int hash, long id) {
        super(object, queue);
        this.hash = hash;
        this.id = id;
    }
}
