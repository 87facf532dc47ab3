package java.lang;

import static java.lang.PacelineLayout.*;
import static java.lang.PacelineObjects.*;
import static java.lang.PacelineRecords.*;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.Hidden;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * Calls of atomic and concurrent objects as one step with their stamps: from `begin` to `commit` or
 * `cancel` the stripe of the object is held. The methods that take the place of modelled calls use
 * these (src/hook/wrappers.rs).
 *
 * The target of a thread is the number of the object between the two; what is held is pending until
 * its record is written.
 */
final class PacelineCalls {
    private PacelineCalls() {}

    /** An access of an object begins. */
    @Hidden @DontInline static void begin(Object object) {
        if (object != null) {
            Thread t = Thread.currentThread();
            long number = idOf(object);
            t.$pacelineTarget = number;
            holdForCall(t, number);
        }
    }

    /** The same for an element or an entry. */
    @Hidden @DontInline static void beginAt(Object object, long index) {
        if (object != null) {
            Thread t = Thread.currentThread();
            long number = idOf(object);
            t.$pacelineTarget = number;
            holdForCall(t, keyed(number, index));
        }
    }

    /** The key of an element or entry. */
    @Hidden static long keyed(long number, long index) {
        return number * 65599 + index;
    }

    @Hidden @ReservedStackAccess @DontInline static void commit(int site) {
        Thread t = Thread.currentThread();
        t.$pacelinePending = 0;
        if (t.$pacelineHeld == 0) {
            hold(t, t.$pacelineTarget);
            PacelineAgent.inexact(site);
        }
        write(t, first(site, t.$pacelineTarget));
        PacelineFilter.recordedObject(t, site);
        letGo(t);
    }

    @Hidden @DontInline static void commitAt(int site, long index) {
        Thread t = Thread.currentThread();
        t.$pacelinePending = 0;
        if (t.$pacelineHeld == 0) {
            hold(t, keyed(t.$pacelineTarget, index));
            PacelineAgent.inexact(site);
        }
        writeAt(t, first(site, t.$pacelineTarget), index);
        PacelineFilter.touched(t);
        letGo(t);
    }

    /**
     * Gives the stripe back as if nothing had been. The stamp of a guest cannot be given back, nor
     * one after which there were guests: it only orders.
     */
    @Hidden @ReservedStackAccess static void cancel() {
        Thread t = Thread.currentThread();
        t.$pacelinePending = 0;
        long stripe = t.$pacelineHeld;
        if (stripe == 0) {
            return;
        }
        long value = MEMORY.getLong(stripe);
        boolean unseen =
                stripe != SPARE_STRIPE && stampOf(stripe, value & ~CALL) == t.$pacelineStamp;
        if (unseen && MEMORY.compareAndSetLong(null, stripe, value, (value & ~CALL) - 1)) {
            t.$pacelineHeld = 0;
            return;
        }
        write(t, ORDER_SITE);
        letGo(t);
    }

    // ---- calls that run code of the application, such as `compute` of a map: their stripe is held
    // all the while, set aside, so that what happens inside can take others. One at a time: a call
    // within such a call is stamped on return, and the version of its stripe shows whether another
    // event came between.
    //
    // If something inside needs the same stripe, it is given up, with a record that only orders;
    // then the call is stamped on return as well. AsideUsed says that there is such a call;
    // AsideHeld is the stripe, 0 when it was given up; AsideStamp its stamp, or then the value it
    // was left with; AsideTarget the number of the object.

    /** What `beginCallback` gives if the stripe is set aside. */
    private static final long ASIDE = -1;

    @Hidden private static boolean canSetAside(Thread t) {
        return t.$pacelineAsideUsed == 0 && t.$pacelineMuted == 0;
    }

    @Hidden private static void setAside(Thread t) {
        t.$pacelineAsideUsed = 1;
        t.$pacelineAsideHeld = t.$pacelineHeld;
        t.$pacelineAsideStamp = t.$pacelineStamp;
        t.$pacelineAsideTarget = t.$pacelineTarget;
        t.$pacelinePending = 0;
        t.$pacelineHeld = 0;
    }

    /** It begins; the version of its stripe, or -1 if that is held. */
    @Hidden @DontInline static long beginCallback(Object object) {
        Thread t = Thread.currentThread();
        if (object == null || !canSetAside(t)) {
            return version(object);
        }
        begin(object);
        setAside(t);
        return ASIDE;
    }

    /** The same for an element or entry. */
    @Hidden @DontInline static long beginCallbackAt(Object object, long index) {
        Thread t = Thread.currentThread();
        if (object == null || !canSetAside(t)) {
            return versionAt(object, index);
        }
        beginAt(object, index);
        setAside(t);
        return ASIDE;
    }

    /** It has ended, well or not. Whether the stripe is held, as before. */
    @Hidden @ReservedStackAccess @DontInline private static boolean restore(Thread t) {
        if (t.$pacelineHeld != 0) {
            letGo(t);
        }
        t.$pacelineAsideUsed = 0;
        if (t.$pacelineAsideHeld == 0) {
            return false;
        }
        t.$pacelineHeld = t.$pacelineAsideHeld;
        t.$pacelineStamp = t.$pacelineAsideStamp;
        t.$pacelineTarget = t.$pacelineAsideTarget;
        t.$pacelinePending = 1;
        t.$pacelineAsideHeld = 0;
        return true;
    }

    /** (object, what `beginCallback` has given, site) */
    @Hidden @DontInline static void endCallback(Object object, long version, int site) {
        if (version == ASIDE) {
            Thread t = Thread.currentThread();
            if (restore(t)) {
                commit(site);
                return;
            }
            version = t.$pacelineAsideStamp;
        }
        begin(object);
        compare(version, site);
        commit(site);
    }

    /** (object, index, what `beginCallbackAt` has given, site) */
    @Hidden @DontInline
    static void endCallbackAt(Object object, long index, long version, int site) {
        Thread t = Thread.currentThread();
        if (version == ASIDE) {
            if (restore(t)) {
                commitAt(site, index);
                return;
            }
            version = t.$pacelineAsideStamp;
        }
        if (t.$pacelineHeld == 0) {
            beginAt(object, index);
            compare(version, site);
        }
        commitAt(site, index);
    }

    /** An exception came. */
    @Hidden @ReservedStackAccess @DontInline static void cancelCallback(long version) {
        if (version == ASIDE && restore(Thread.currentThread())) {
            cancel();
        }
    }

    /** Gives up the stripe that is set aside. */
    @Hidden @DontInline static void giveUp(Thread t) {
        if (t.$pacelineAsideHeld == 0) {
            return;
        }
        if (t.$pacelineHeld != 0) {
            letGo(t);
        }
        t.$pacelineHeld = t.$pacelineAsideHeld;
        t.$pacelineStamp = t.$pacelineAsideStamp;
        write(t, ORDER_SITE);
        t.$pacelineAsideStamp = letGo(t);
        t.$pacelineAsideHeld = 0;
    }

    /** Gives it up if it is the one for a key: the agent must not wait for it. */
    @Hidden static void avoid(Thread t, long key) {
        if (t.$pacelineAsideUsed != 0 && stripe(key) == t.$pacelineAsideHeld) {
            giveUp(t);
        }
    }

    // ---- stamped on return

    /**
     * The version of the stripe of an object: whether it is the same later shows what came between.
     */
    @Hidden private static long version(Object object) {
        return object == null ? 0 : MEMORY.getLongVolatile(null, stripe(idOf(object)));
    }

    @Hidden private static long versionAt(Object object, long index) {
        return object == null ? 0 : MEMORY.getLongVolatile(null, stripe(keyed(idOf(object), index)));
    }

    /** Notes it if the stripe that is held has another version than before the call. */
    @Hidden static void compare(long version, int site) {
        Thread t = Thread.currentThread();
        boolean same = (MEMORY.getLong(t.$pacelineHeld) & ~CALL) == (version & ~CALL | HELD);
        if (t.$pacelineMuted == 0 && !same) {
            PacelineAgent.inexact(site);
        }
    }
}
