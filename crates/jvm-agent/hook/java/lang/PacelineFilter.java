package java.lang;

import static java.lang.PacelineLayout.*;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;

/**
 * Which accesses are not recorded: redundant ones, and those of throttled threads.
 *
 * An access is redundant if its transaction has recorded an equivalent one, with no conflicting
 * access of another transaction in between: it adds no edge to the graph of transactions. A write
 * covers later reads and writes, a read covers later reads. The check comes just before the access
 * and holds nothing: if another thread comes between the two, an edge is lost, which is a chance to
 * see a violation. No edge is ever invented, since what is recorded is a part of a sequence that
 * really happened.
 *
 * A transaction has a number that no other has, or 0 if it has none yet. It is 0 again where a
 * block begins, and after each event outside of blocks, which is a transaction of its own. For
 * epochs (races) it is 0 again after everything that may order threads, and accesses of volatile
 * fields are always recorded: an order that gets lost would be a false alarm.
 *
 * After the version of each stripe come two words, written by the thread that holds it. The first
 * changes when another transaction than before records an access, the second when another one
 * records a write. Each is the transaction (44 bits) and a count of changes (20 bits). A thread has
 * two tables, of reads and of writes that it has recorded: entries of 32 bytes with the variable,
 * the word of its stripe at that time, and the transaction. A variable is the number of an object
 * (high half) and that of a field or an index; for static fields the address of their word, with
 * the highest bit set.
 *
 * The facts of a site are flags (bit 0 is set, WRITE, VOLATILE), where objects have their word,
 * where the field is, and the number of the field. If they are negative, nothing is observed.
 */
final class PacelineFilter {
    private PacelineFilter() {}

    private static final long GOLDEN = 0x9E3779B97F4A7C15L;
    /** In a stripe, the words for accesses and for writes. */
    private static final int ACCESSES = 8;
    private static final int WRITES = 16;
    /** In an entry, the word of the stripe and the transaction. */
    private static final int SEEN = 8;
    private static final int TRANSACTION = 16;
    private static final int ENTRY_SHIFT = 5;
    /** In a word of a stripe, the bits for the count of changes. */
    private static final int CHANGE_BITS = 20;

    // ---- facts of sites

    @Hidden @ForceInline static long siteWord(int site) {
        return ((long) site << 3) + SITES;
    }

    @Hidden @ForceInline static long facts(int site) {
        long facts = MEMORY.getLong(siteWord(site));
        return facts != 0 ? facts : PacelineAgent.siteFacts(site);
    }

    /** The same for a site that accesses a field of an object. */
    @Hidden @ForceInline static long fieldFacts(Object object, int site) {
        long facts = MEMORY.getLong(siteWord(site));
        return facts != 0 ? facts : resolveField(object, site);
    }

    @Hidden @DontInline private static long resolveField(Object object, int site) {
        return PacelineAgent.fieldFacts(object, site, PacelineObjects.factsOf(object));
    }

    @Hidden @ForceInline static long wordOffset(long facts) {
        return facts >>> WORD_OFFSET & OFFSET_MASK;
    }

    @Hidden @ForceInline static long fieldOffset(long facts) {
        return facts >>> FIELD_OFFSET & OFFSET_MASK;
    }

    /** The field of an object as a variable. */
    @Hidden @ForceInline static long variable(long number, long facts) {
        return number << 32 | facts >>> FIELD_NUMBER;
    }

    /**
     * Whether a read must be recorded even if its position is not certain: it may order threads.
     */
    @Hidden static boolean mayOrder(long facts) {
        return (!FILTERS || EPOCHS) && (facts & VOLATILE) != 0;
    }

    // ---- redundant accesses

    /** Where a thread remembers a variable: reads first, then writes. */
    @Hidden @ForceInline private static long entry(Thread t, long variable, boolean write) {
        long index = (variable * GOLDEN >>> 64 - FILTER_BITS) + (write ? 1L << FILTER_BITS : 0);
        return t.$pacelineFilter + (index << ENTRY_SHIFT);
    }

    @Hidden @ForceInline
    static boolean isRedundant(Thread t, long variable, long facts, long stripe) {
        if (t.$pacelineTx == 0) {
            return false;
        }
        boolean write = (facts & WRITE) != 0;
        long entry = entry(t, variable, write);
        return MEMORY.getLong(entry) == variable
                && MEMORY.getLong(entry + TRANSACTION) == t.$pacelineTx
                && MEMORY.getLong(entry + SEEN)
                        == MEMORY.getLong(stripe + (write ? ACCESSES : WRITES));
    }

    /** Whether a read of an atomic object need not be recorded. */
    @Hidden @DontInline static boolean isRedundantRead(Object object, int site) {
        if (!FILTERS || EPOCHS) {
            return false;
        }
        Thread t = Thread.currentThread();
        if (isThrottled(t)) {
            return true;
        }
        if (t.$pacelineTx == 0 || object == null) {
            return false;
        }
        long number = PacelineObjects.idOf(object);
        return isRedundant(t, number << 32, facts(site), PacelineRecords.stripe(number));
    }

    /** An access was recorded, and its stripe is held. */
    @Hidden @ForceInline static void recorded(Thread t, long variable, long facts, long stripe) {
        if (!FILTERS) {
            return;
        }
        if (BUDGET != 0) {
            spend(t);
        }
        if (t.$pacelineMuted != 0) {
            return;
        }
        if (t.$pacelineTx == 0) {
            newTransaction(t);
        }
        boolean write = (facts & WRITE) != 0;
        boolean orders = EPOCHS && (facts & VOLATILE) != 0;
        mark(t, stripe + ACCESSES);
        if (write) {
            mark(t, stripe + WRITES);
        }
        if (orders) {
            t.$pacelineTx = 0;
            return;
        }
        if (write) {
            remember(t, variable, true, stripe + ACCESSES);
        }
        remember(t, variable, false, stripe + WRITES);
    }

    /** Says in a word of a stripe that this transaction was the last. */
    @Hidden @ForceInline private static void mark(Thread t, long word) {
        if (MEMORY.getLong(word) >>> CHANGE_BITS != t.$pacelineTx) {
            long changes = ++t.$pacelineChanges;
            MEMORY.putLong(word, t.$pacelineTx << CHANGE_BITS | changes & (1 << CHANGE_BITS) - 1);
        }
    }

    @Hidden @ForceInline
    private static void remember(Thread t, long variable, boolean write, long word) {
        long entry = entry(t, variable, write);
        MEMORY.putLong(entry, variable);
        MEMORY.putLong(entry + SEEN, MEMORY.getLong(word));
        MEMORY.putLong(entry + TRANSACTION, t.$pacelineTx);
    }

    /** Something was recorded that may be an access of anything on the stripe that is held. */
    @Hidden static void touched(Thread t) {
        if (!FILTERS || t.$pacelineMuted != 0) {
            return;
        }
        if (t.$pacelineTx == 0) {
            newTransaction(t);
        }
        mark(t, t.$pacelineHeld + ACCESSES);
        mark(t, t.$pacelineHeld + WRITES);
        ordered(t);
    }

    /**
     * An access of an atomic object was recorded: the target of the thread, whose stripe is held.
     */
    @Hidden static void recordedObject(Thread t, int site) {
        if (FILTERS && !EPOCHS && (facts(site) & WRITE) == 0) {
            recorded(t, t.$pacelineTarget << 32, 0, t.$pacelineHeld);
        } else {
            touched(t);
        }
    }

    /** Something was recorded that orders threads: another epoch begins. */
    @Hidden @ForceInline static void ordered(Thread t) {
        if (EPOCHS) {
            t.$pacelineTx = 0;
        }
    }

    /** Outside of blocks each event is a transaction of its own. */
    @Hidden @ForceInline static void unary(Thread t) {
        if (t.$pacelineDepth == 0) {
            t.$pacelineTx = 0;
        }
    }

    @Hidden @DontInline private static void newTransaction(Thread t) {
        long next = t.$pacelineNextTx;
        if (next == t.$pacelineLastTx) {
            next = PacelineAgent.moreTransactions(t);
        }
        t.$pacelineNextTx = next + 1;
        t.$pacelineTx = next;
    }

    /** Whether a block inside of another one is recorded. */
    @Hidden @ForceInline static boolean isRecordedInside(Thread t, int site) {
        if (!FILTERS) {
            return true;
        }
        long word = siteWord(site);
        long count = MEMORY.getLong(word);
        if (count < ALWAYS_RECORDED) {
            MEMORY.putLong(word, count + 1);
            return true;
        }
        // A linear congruential generator, with Knuth's constants.
        long chance = t.$pacelineChance * 0x5851F42D4C957F2DL + 0x14057B7EF767814FL;
        t.$pacelineChance = chance;
        return chance >>> CHANCE_SHIFT == 0;
    }

    // ---- throttling. In each window of time a thread may record so many accesses; then it is
    // throttled until the next window begins, for all threads at once, so that those that interfere
    // are recorded together. While it is, its monitor operations and nested blocks are not recorded
    // either. That is for atomicity alone: for races a monitor that is missing would be a missing
    // order.

    @Hidden @ForceInline static boolean isThrottled(Thread t) {
        return t.$pacelineThrottled == MEMORY.getLong(WINDOW);
    }

    /** Counts an access that is recorded. */
    @Hidden @DontInline private static void spend(Thread t) {
        long window = MEMORY.getLong(WINDOW);
        if (window != t.$pacelineWindow) {
            t.$pacelineWindow = window;
            t.$pacelineBudget = BUDGET;
        }
        if (--t.$pacelineBudget == 0) {
            t.$pacelineThrottled = window;
            MEMORY.putLong(THROTTLINGS, MEMORY.getLong(THROTTLINGS) + 1);
        }
    }
}
