package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.Hidden;

/**
 * What the agent decides when it starts: where its memory is, how records are laid out, what is
 * recorded. Initialised once; the compilers then see constants.
 */
final class PacelineLayout {
    private PacelineLayout() {}

    static final Unsafe MEMORY = Unsafe.getUnsafe();

    /** The first stripe. */
    static final long STRIPES = of("STRIPES");
    /** By how much a hash is shifted to number a stripe. */
    static final int STRIPE_SHIFT = (int) of("STRIPE_SHIFT");
    /** The size of a stripe in bytes, as a power of two. */
    static final int STRIPE_BYTES_SHIFT = (int) of("STRIPE_BYTES_SHIFT");
    /** A stripe that no thread waits for. */
    static final long SPARE_STRIPE = of("SPARE_STRIPE");
    /** A word for each site. */
    static final long SITES = of("SITES");
    /** The owners of arrays, by identity hash; their number is the mask and one. */
    static final long OWNERS = of("OWNERS");
    static final int OWNER_MASK = (int) of("OWNER_MASK");

    /** In a record, the number of an object is shifted by this; below is the site. */
    static final int OBJECT_SHIFT = (int) of("OBJECT_SHIFT");
    /** In a stamp, the number of the stripe is shifted by this; below is its version. */
    static final int STAMP_SHIFT = (int) of("STAMP_SHIFT");
    /** The site of records that only order. */
    static final long ORDER_SITE = of("ORDER_SITE");
    /** The site of records that say the class of an object. */
    static final long OBJECT_SITE = of("OBJECT_SITE");
    /**
     * In a buffer, where the limit is that asks for draining early, and the last place for a
     * record.
     */
    static final int EARLY_LIMIT = (int) of("EARLY_LIMIT");
    static final int LAST_PLACE = (int) of("LAST_PLACE");

    /** The facts of a site: flags, and where the rest is (see {@link PacelineFilter}). */
    static final long WRITE = of("WRITE");
    static final long VOLATILE = of("VOLATILE");
    static final int WORD_OFFSET = (int) of("WORD_OFFSET");
    static final int FIELD_OFFSET = (int) of("FIELD_OFFSET");
    static final long OFFSET_MASK = of("OFFSET_MASK");
    static final int FIELD_NUMBER = (int) of("FIELD_NUMBER");

    /**
     * Whether redundant accesses are left out, and whether something that orders ends a
     * transaction.
     */
    static final boolean FILTERS = of("FILTERS") != 0;
    static final boolean EPOCHS = of("EPOCHS") != 0;
    /** How many reads, and writes, a thread remembers, as a power of two. */
    static final int FILTER_BITS = (int) of("FILTER_BITS");
    /** So often each inner block is recorded; later with a chance of one in 2^(64 - shift). */
    static final long ALWAYS_RECORDED = of("ALWAYS_RECORDED");
    static final int CHANCE_SHIFT = (int) of("CHANCE_SHIFT");

    /** So many accesses a thread records in a window of time; 0: any number. */
    static final int BUDGET = (int) of("BUDGET");
    /** The number of the window, and the count of throttlings. */
    static final long WINDOW = of("WINDOW");
    static final long THROTTLINGS = of("THROTTLINGS");

    @Hidden private static long of(String name) {
        return PacelineAgent.constant(name);
    }
}
