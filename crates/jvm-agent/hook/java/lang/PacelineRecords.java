package java.lang;

import static java.lang.PacelineLayout.*;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * How records get into the buffer of a thread, and stamps on them.
 *
 * A buffer begins with {address of the next record, limit for draining early, last place for a
 * record}. Every write asks {@link #place} for its address, and nothing else gives one: there is
 * room for the longest record there, whatever was written since the stripe was taken.
 *
 * A stripe is a version, shifted by one, and a bit that says that it is held; two words of {@link
 * PacelineFilter} follow. An event takes the stripe of its object, is done, and leaves the next
 * version: so the stamp and the access are one step. Where it is held for a call, which may take
 * long, the bit CALL says so: then another thread may take the next version as a guest, and the
 * stripe is let go by an atomic addition, or that version would be given twice.
 */
final class PacelineRecords {
    private PacelineRecords() {}

    private static final long GOLDEN = 0x9E3779B97F4A7C15L;
    /** In a stripe that is held. */
    static final long HELD = 1;
    /** In a stripe that is held for a call: the sign. */
    static final long CALL = Long.MIN_VALUE;

    // ---- buffers

    @Hidden @ForceInline static void ready(Thread t) {
        if (t.$pacelineBuffer == 0) {
            PacelineAgent.prepare(t);
        }
    }

    /** Where the next record goes: the one place that knows whether there is room. */
    @Hidden @ForceInline static long place(Thread t) {
        ready(t);
        long buffer = t.$pacelineBuffer;
        long next = MEMORY.getLong(buffer);
        if (next > MEMORY.getLong(buffer + LAST_PLACE)) {
            PacelineAgent.drain(buffer);
            next = MEMORY.getLong(buffer);
        }
        return next;
    }

    /** Drains early, so that it need not be done while a stripe is held, when others wait. */
    @Hidden @ForceInline static void drainEarly(Thread t) {
        ready(t);
        long buffer = t.$pacelineBuffer;
        if (MEMORY.getLong(buffer) > MEMORY.getLong(buffer + EARLY_LIMIT)) {
            PacelineAgent.drain(buffer);
        }
    }

    @Hidden @ForceInline private static void written(Thread t, long end) {
        MEMORY.putLongRelease(null, t.$pacelineBuffer, end);
    }

    /** A record without stamp. */
    @Hidden @DontInline static void record(Thread t, long first) {
        recordHere(t, first);
    }

    @Hidden @ForceInline static void recordHere(Thread t, long first) {
        long at = place(t);
        MEMORY.putLong(at, first);
        written(t, at + 8);
    }

    /** A record with the stamp of the stripe that is held. */
    @Hidden @ForceInline static void write(Thread t, long first) {
        long at = place(t);
        MEMORY.putLong(at, first);
        MEMORY.putLong(at + 8, t.$pacelineStamp);
        written(t, at + 16);
    }

    /** The same with an index. */
    @Hidden @ForceInline static void writeAt(Thread t, long first, long index) {
        long at = place(t);
        MEMORY.putLong(at, first);
        MEMORY.putLong(at + 8, t.$pacelineStamp);
        MEMORY.putLong(at + 16, index);
        written(t, at + 24);
    }

    /** The first word of a record. */
    @Hidden @ForceInline static long first(int site, long number) {
        return site | number << OBJECT_SHIFT;
    }

    /** Records the class of an object, even while the thread is muted. */
    @Hidden static void announce(Thread t, long number, long classFacts) {
        if (t.$pacelineMuted == 0) {
            announceHere(t, number, classFacts);
            return;
        }
        exchangeBuffers(t);
        announceHere(t, number, classFacts);
        exchangeBuffers(t);
    }

    @Hidden private static void announceHere(Thread t, long number, long classFacts) {
        long at = place(t);
        MEMORY.putLong(at, OBJECT_SITE | number << OBJECT_SHIFT);
        MEMORY.putLong(at + 8, classFacts & 0xffffffffL);
        written(t, at + 16);
    }

    @Hidden @ReservedStackAccess static void exchangeBuffers(Thread t) {
        long buffer = t.$pacelineBuffer;
        t.$pacelineBuffer = t.$pacelineDiscard;
        t.$pacelineDiscard = buffer;
    }

    /**
     * Records the begins of the blocks that are open: a block in which nothing happens has none.
     */
    @Hidden @DontInline static void recordBlocks(Thread t) {
        for (int i = t.$pacelineBegun; i < t.$pacelineDepth; i = t.$pacelineBegun) {
            if (i < t.$pacelineBlockRoom) {
                int site = MEMORY.getInt(t.$pacelineBlocks + ((long) i << 4));
                if (site != 0) {
                    record(t, site);
                }
            }
            t.$pacelineBegun = i + 1;
        }
    }

    // ---- stripes

    /** The address of the stripe for a key. */
    @Hidden @ForceInline static long stripe(long key) {
        return (key * GOLDEN >>> STRIPE_SHIFT << STRIPE_BYTES_SHIFT) + STRIPES;
    }

    /** The stamp of a stripe with a value. */
    @Hidden @ForceInline static long stampOf(long stripe, long value) {
        return value >>> 1 | stripe - STRIPES >>> STRIPE_BYTES_SHIFT << STAMP_SHIFT;
    }

    /** Takes the stripe of a key. */
    @Hidden @ForceInline static void hold(Thread t, long key) {
        holdStripe(t, stripe(key));
    }

    @Hidden @ForceInline static void holdStripe(Thread t, long stripe) {
        hold(t, stripe, HELD);
    }

    /** Takes the stripe of a key for a call. */
    @Hidden @ForceInline static void holdForCall(Thread t, long key) {
        hold(t, stripe(key), HELD | CALL);
        t.$pacelinePending = 1;
    }

    @Hidden @ForceInline private static void hold(Thread t, long stripe, long flags) {
        if (t.$pacelineHeld != 0) {
            displace(t);
        }
        if (t.$pacelineBegun < t.$pacelineDepth) {
            recordBlocks(t);
        }
        if (t.$pacelineMuted != 0) {
            t.$pacelineHeld = SPARE_STRIPE;
            return;
        }
        PacelineFilter.unary(t);
        drainEarly(t);
        long value = MEMORY.getLong(stripe);
        if ((value & HELD) == 0 && MEMORY.compareAndSetLong(null, stripe, value, value | flags)) {
            t.$pacelineHeld = stripe;
            t.$pacelineStamp = stampOf(stripe, value);
        } else {
            await(t, stripe, flags);
        }
    }

    /**
     * The stripe is held. Should that last too long, because its holder waits for this thread, the
     * thread gets a stamp as a guest, and holds nothing but the spare stripe.
     */
    @Hidden @DontInline private static void await(Thread t, long stripe, long flags) {
        if (stripe == t.$pacelineAsideHeld) {
            PacelineCalls.giveUp(t);
        }
        long value = PacelineAgent.seize(stripe, flags);
        if (value >= 0) {
            t.$pacelineHeld = stripe;
            t.$pacelineStamp = stampOf(stripe, value);
        } else {
            t.$pacelineHeld = SPARE_STRIPE;
            t.$pacelineStamp = stampOf(stripe, ~value);
        }
    }

    /**
     * A stripe that is still held is let go. If its access has not been recorded yet, because it
     * runs code of the application, its stamp only orders.
     */
    @Hidden @DontInline static void displace(Thread t) {
        if (t.$pacelinePending != 0) {
            t.$pacelinePending = 0;
            write(t, ORDER_SITE);
        }
        letGo(t);
    }

    /** Lets the stripe go; the value that it is left with. */
    @Hidden @ReservedStackAccess @DontInline static long letGo(Thread t) {
        long stripe = t.$pacelineHeld;
        t.$pacelineHeld = 0;
        long value = MEMORY.getLong(stripe);
        if (value >= 0) {
            MEMORY.putLongRelease(null, stripe, value + 1);
            return value + 1;
        }
        // A guest may have come since. The sign goes by overflow.
        return MEMORY.getAndAddLong(null, stripe, CALL + 1) + CALL + 1;
    }

    /** Records an event of an object: takes its stripe, and lets it go. */
    @Hidden @ReservedStackAccess static void stamped(Thread t, int site, long number) {
        hold(t, number);
        write(t, first(site, number));
        PacelineFilter.ordered(t);
        letGo(t);
    }

    /** Before an event that takes no stamp, or takes it in the agent. */
    @Hidden static void beforeEvent(Thread t) {
        PacelineFilter.unary(t);
        PacelineFilter.ordered(t);
        recordBlocks(t);
    }

    /** Makes a thread ready for events that the agent writes. */
    @Hidden static void settle(Thread t) {
        free(t);
        beforeEvent(t);
    }

    /** Nothing is held then. */
    @Hidden static void free(Thread t) {
        ready(t);
        if (t.$pacelineHeld != 0) {
            displace(t);
        }
    }
}
