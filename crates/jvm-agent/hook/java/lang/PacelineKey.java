package java.lang;

import java.lang.ref.SoftReference;

/** A key that stands for all that are equal: an entry of the table in PacelineKeys. */
final class PacelineKey extends SoftReference<Object> {
    final int hash;
    final long id;
    final PacelineKey next;

    PacelineKey(Object key, int hash, long id, PacelineKey next) {
        super(key);
        this.hash = hash;
        this.id = id;
        this.next = next;
    }
}
