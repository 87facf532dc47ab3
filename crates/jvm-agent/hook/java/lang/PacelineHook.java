package java.lang;

import static java.lang.PacelineFilter.*;
import static java.lang.PacelineLayout.*;
import static java.lang.PacelineObjects.*;
import static java.lang.PacelineRecords.*;

import java.lang.reflect.Array;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * What code that is inserted into classes of the application calls. What runs at each access is
 * small enough to inline; what follows when an object is shared is kept apart (`DontInline`), or
 * the compilers would work on copies of it for a large part of the time; what runs rarely is
 * native.
 *
 * All methods are hidden from stack traces. Those that leave something, and those that they call,
 * may use the reserved part of the stack: if it overflows, what was entered must still be left.
 */
public final class PacelineHook {
    private PacelineHook() {}

    // ---- fields of objects

    /** Before an access of a field: takes the stripe, and records it. */
    @Hidden @DontInline public static void at(Object object, int site) {
        Thread t = Thread.currentThread();
        if (isThrottled(t) || object == null) {
            return;
        }
        long facts = fieldFacts(object, site);
        if (facts < 0) {
            return;
        }
        long word = MEMORY.getLong(object, wordOffset(facts));
        if ((int) word != t.$pacelineToken) {
            atShared(object, word, facts, site, t);
        }
    }

    @Hidden @DontInline
    private static void atShared(Object object, long word, long facts, int site, Thread t) {
        long number = (int) word == SHARED ? word >>> 32 : share(object, t);
        if (number == 0) {
            return;
        }
        long stripe = stripe(number);
        long variable = variable(number, facts);
        if (isRedundant(t, variable, facts, stripe)) {
            return;
        }
        holdStripe(t, stripe);
        write(t, first(site, number));
        recorded(t, variable, facts, stripe);
    }

    /** After an access: lets the stripe go. */
    @Hidden @ReservedStackAccess @DontInline public static void done() {
        Thread t = Thread.currentThread();
        if (t.$pacelineHeld != 0) {
            letGo(t);
        }
    }

    /** After a read of a field: takes the stripe; the number of the object, or 0 for no event. */
    @Hidden @DontInline static long holdRead(Object object, long word, long facts, Thread t) {
        long number = (int) word == SHARED ? word >>> 32 : share(object, t);
        if (number == 0) {
            return 0;
        }
        long stripe = stripe(number);
        if (isRedundant(t, variable(number, facts), facts, stripe)) {
            return 0;
        }
        holdStripe(t, stripe);
        return number;
    }

    /** Records the read, and lets the stripe go. */
    @Hidden @ReservedStackAccess @DontInline
    static void confirmRead(Thread t, int site, long facts, long number) {
        write(t, first(site, number));
        recorded(t, variable(number, facts), facts, stripe(number));
        letGo(t);
    }

    // ---- objects that are made

    /** The word of an object that the current thread makes. */
    @Hidden @ForceInline public static long claim() {
        return Thread.currentThread().$pacelineToken;
    }

    /** The word of an object that is shared from the start. */
    @Hidden @DontInline public static long born(Object object, long word) {
        return PacelineObjects.born(object, word);
    }

    /** An object was copied; gives the copy back. */
    @Hidden @DontInline public static Object cloned(Object original, Object copy) {
        PacelineObjects.cloned(original, copy);
        return copy;
    }

    /** An array was made. */
    @Hidden @DontInline public static void made(Object array) {
        Thread t = Thread.currentThread();
        if (!isThrottled(t)) {
            own(System.identityHashCode(array), t.$pacelineToken);
        }
    }

    // ---- static fields. The word of a site is where the field's word is, with the flags of its
    // facts in the lowest bits; 0: not known yet, 1: nothing to observe. Behind the word are the
    // object number for records, the class initialiser, and the number of the variable.

    private static final long NOTHING = 1;
    private static final long FLAGS = 7;
    private static final int OBJECT = 8;
    private static final int INITIALISER = 16;
    /** Distinguishes the address of a word from variables of objects. */
    private static final long STATIC = 1L << 63;

    /** Before an access of a static field. */
    @Hidden @ForceInline public static void atStatic(int site) {
        long word = MEMORY.getLong(siteWord(site));
        if (word == NOTHING) {
            return;
        }
        Thread t = Thread.currentThread();
        if (word == 0 || (int) MEMORY.getLong(word & ~FLAGS) != t.$pacelineToken) {
            atStaticShared(site, word, t);
        }
    }

    @Hidden @DontInline private static void atStaticShared(int site, long known, Thread t) {
        if (isThrottled(t)) {
            return;
        }
        ready(t);
        if (known == 0) {
            known = PacelineAgent.resolve(site, t.$pacelineBuffer);
            if (known == NOTHING) {
                return;
            }
        }
        long facts = known & (WRITE | VOLATILE);
        long word = known & ~FLAGS;
        if (!shareStatic(word, t)) {
            return;
        }
        long stripe = stripe(word);
        long variable = word | STATIC;
        if (isRedundant(t, variable, facts, stripe)) {
            return;
        }
        useClass(word, t);
        holdStripe(t, stripe);
        write(t, first(site, MEMORY.getLong(word + OBJECT)));
        recorded(t, variable, facts, stripe);
    }

    /** Makes a static field shared unless the thread owns it; whether it is. */
    @Hidden @ForceInline private static boolean shareStatic(long word, Thread t) {
        long owner = MEMORY.getLongVolatile(null, word);
        if ((int) owner == t.$pacelineToken) {
            return false;
        }
        shareStaticNow(word, owner);
        return true;
    }

    @Hidden @ForceInline static void shareStaticNow(long word, long owner) {
        if ((int) owner != SHARED) {
            MEMORY.compareAndSetLong(null, word, owner, 0xffffffffL);
        }
    }

    /** The first word of a record for a static field. */
    @Hidden static long firstOfStatic(int site, long word) {
        return first(site, MEMORY.getLong(word + OBJECT));
    }

    /**
     * Orders a thread's first use of a class after its initialiser. If the blocks that are open
     * have no event yet, it comes before their begin: it is not part of what the program does.
     */
    @Hidden @DontInline static void useClass(long word, Thread t) {
        long initialiser = MEMORY.getLong(word + INITIALISER);
        if (initialiser == 0) {
            return;
        }
        int index = (int) initialiser;
        boolean used = index < t.$pacelineUsedRoom
                && MEMORY.getInt(t.$pacelineUsed + ((long) index << 2)) != 0;
        if (!used) {
            PacelineCalls.giveUp(t);
            free(t);
            if (t.$pacelineBegun != 0) {
                beforeEvent(t);
            } else {
                ordered(t);
            }
            PacelineAgent.firstUse(t, initialiser, t.$pacelineBuffer);
        }
    }

    /**
     * The end of a class initialiser. The thread that owns the static fields is kept with the site.
     */
    @Hidden public static void initialised(int site) {
        Thread t = Thread.currentThread();
        ready(t);
        MEMORY.putLong(siteWord(site), t.$pacelineToken);
        hold(t, site);
        write(t, site);
        ordered(t);
        letGo(t);
    }

    // ---- array elements

    /** Before an access of an element. */
    @Hidden @DontInline public static void atElement(Object array, int index, int site) {
        Thread t = Thread.currentThread();
        if (isThrottled(t) || array == null || index < 0 || index >= Array.getLength(array)) {
            return;
        }
        int hash = System.identityHashCode(array);
        long entry = ownerOf(hash);
        if (isOwn(entry, hash, t)) {
            return;
        }
        long number = holdElement(array, index, site, t, hash, entry);
        if (number != 0) {
            recordElement(t, site, index, number);
        }
    }

    /** Takes the stripe of an element; the number of the array, or 0 for no event. */
    @Hidden @DontInline
    static long holdElement(Object array, int index, int site, Thread t, int hash, long entry) {
        ready(t);
        long number = shareArray(array, t, hash, entry);
        if (number == 0) {
            return 0;
        }
        long stripe = stripe(elementKey(number, index));
        if (isRedundant(t, elementVariable(number, index), facts(site), stripe)) {
            return 0;
        }
        holdStripe(t, stripe);
        return number;
    }

    /** Four neighbours share a stripe. */
    @Hidden @ForceInline static long elementKey(long number, int index) {
        return number * 65536 + (index >> 2);
    }

    @Hidden @ForceInline private static long elementVariable(long number, int index) {
        return number << 32 | index;
    }

    @Hidden @ForceInline
    private static void recordElement(Thread t, int site, int index, long number) {
        writeAt(t, first(site, number), index);
        long stripe = stripe(elementKey(number, index));
        recorded(t, elementVariable(number, index), facts(site), stripe);
    }

    /** Records the read of an element, and lets its stripe go. */
    @Hidden @ReservedStackAccess @DontInline
    static void confirmElement(Thread t, int site, int index, long number) {
        recordElement(t, site, index, number);
        letGo(t);
    }

    // ---- monitors. The number is found before the lock is taken: the identity hash of a locked
    // object is slow to get. A monitor that is taken while the thread is throttled has the number
    // 0; neither that nor its release is recorded.

    @Hidden @DontInline public static void beforeLock(Object object) {
        if (object != null) {
            Thread t = Thread.currentThread();
            t.$pacelineTarget = isThrottled(t) ? 0 : monitorOf(object);
        }
    }

    @Hidden public static void locked(int site) {
        Thread t = Thread.currentThread();
        acquire(t, t.$pacelineTarget, site);
    }

    /** A synchronized method has been entered, of an object with this word. */
    @Hidden public static void entered(Object object, long word, int site) {
        Thread t = Thread.currentThread();
        long number = word >>> 32;
        if (number == 0 && !isThrottled(t)) {
            ready(t);
            number = number(object, object, t);
        }
        acquire(t, number, site);
    }

    /** A static one: the number of its class is kept with the site. */
    @Hidden public static void enteredStatic(Class<?> type, int site) {
        long number = MEMORY.getLong(siteWord(site));
        if (number == 0) {
            Class<?> entered = type != null ? type : PacelineAgent.callingClass();
            number = entered == null ? 0 : idOf(entered);
            MEMORY.putLong(siteWord(site), number);
        }
        acquire(Thread.currentThread(), number, site);
    }

    /**
     * A synchronized method that is a block has been entered. If the lock cannot be recorded, for
     * lack of stack, the block has not begun either; and there may be no stack for another call.
     */
    @Hidden public static void enteredBlock(Object object, long word, int site, int begin) {
        enter(begin);
        try {
            entered(object, word, site);
        } catch (Throwable e) {
            Thread t = Thread.currentThread();
            int depth = t.$pacelineDepth - 1;
            if (t.$pacelineBegun <= depth) {
                t.$pacelineDepth = depth;
            } else {
                exit(begin + 1);
            }
            throw e;
        }
    }

    /** A static one. */
    @Hidden public static void enteredStaticBlock(Class<?> type, int site, int begin) {
        enter(begin);
        try {
            enteredStatic(type, site);
        } catch (Throwable e) {
            Thread t = Thread.currentThread();
            int depth = t.$pacelineDepth - 1;
            if (t.$pacelineBegun <= depth) {
                t.$pacelineDepth = depth;
            } else {
                exit(begin + 1);
            }
            throw e;
        }
    }

    /** Whether a monitor is among the first of those that the thread holds. */
    @Hidden static boolean holds(Thread t, long number, int first) {
        for (int i = Math.min(first, t.$pacelineLockRoom) - 1; i >= 0; i--) {
            if (MEMORY.getLong(t.$pacelineLocks + ((long) i << 3)) == number) {
                return true;
            }
        }
        return false;
    }

    /** What is kept changes last: if the stack overflows before, nothing has happened. */
    @Hidden @DontInline private static void acquire(Thread t, long number, int site) {
        int count = t.$pacelineLockCount;
        if (count >= t.$pacelineLockRoom) {
            PacelineAgent.growLocks(t);
        }
        if (isThrottled(t)) {
            number = 0;
        }
        if (number != 0 && !holds(t, number, count)) {
            stamped(t, site, number);
        }
        if (count < t.$pacelineLockRoom) {
            MEMORY.putLong(t.$pacelineLocks + ((long) count << 3), number);
        }
        t.$pacelineLockCount = count + 1;
    }

    /** Monitors are released in the opposite order, so it is the last one. */
    @Hidden @ReservedStackAccess @DontInline public static void release(int site) {
        Thread t = Thread.currentThread();
        int count = t.$pacelineLockCount - 1;
        if (count < 0) {
            return;
        }
        t.$pacelineLockCount = count;
        if (count >= t.$pacelineLockRoom) {
            return;
        }
        long number = MEMORY.getLong(t.$pacelineLocks + ((long) count << 3));
        if (number != 0 && !holds(t, number, count)) {
            stamped(t, site, number);
        }
    }

    /** An exception leaves a block or a monitor. The stack may have been too full for our code. */
    @Hidden @DontInline public static void thrown(Object exception) {
        if (exception instanceof StackOverflowError) {
            PacelineAgent.overflowed();
        }
    }

    // ---- blocks. Inside of another block, one that runs often is recorded now and then only; what
    // it does belongs to the outer one. If it is recorded, it has a transaction of its own, so that
    // all of its accesses are recorded too: which of the blocks is to blame depends on them. An
    // entry of the table of blocks is 16 bytes: the site of its begin, or 0 if it is not recorded,
    // and the transaction around it.

    private static final int AROUND = 8;

    @Hidden @DontInline public static void enter(int site) {
        Thread t = Thread.currentThread();
        int depth = t.$pacelineDepth;
        if (depth >= t.$pacelineBlockRoom) {
            PacelineAgent.growBlocks(t);
        }
        if (depth < t.$pacelineBlockRoom) {
            long entry = t.$pacelineBlocks + ((long) depth << 4);
            if (depth == 0 || !isThrottled(t) && isRecordedInside(t, site)) {
                MEMORY.putInt(entry, site);
                MEMORY.putLong(entry + AROUND, t.$pacelineTx);
                t.$pacelineTx = 0;
            } else {
                MEMORY.putInt(entry, 0);
            }
        }
        t.$pacelineDepth = depth + 1;
    }

    @Hidden @ReservedStackAccess @DontInline public static void exit(int site) {
        leave(site);
    }

    /** The same where an exception leaves: rare, so it is apart. */
    @Hidden @ReservedStackAccess @DontInline public static void exitThrown(int site) {
        leave(site);
    }

    /** The same for a synchronized method: (site of the release, site of the end). */
    @Hidden @ReservedStackAccess @DontInline
    public static void releasedThrown(int released, int ended) {
        release(released);
        leave(ended);
    }

    /** Where there may be no stack left, there is one call only. */
    @Hidden @ReservedStackAccess @ForceInline private static void leave(int site) {
        Thread t = Thread.currentThread();
        int depth = t.$pacelineDepth - 1;
        if (depth < 0) {
            return;
        }
        t.$pacelineDepth = depth;
        boolean begun = t.$pacelineBegun > depth;
        if (begun) {
            t.$pacelineBegun = depth;
        }
        if (depth >= t.$pacelineBlockRoom) {
            return;
        }
        long entry = t.$pacelineBlocks + ((long) depth << 4);
        if (MEMORY.getInt(entry) == 0) {
            return;
        }
        if (begun) {
            recordHere(t, site);
        }
        t.$pacelineTx = depth == 0 || EPOCHS ? 0 : MEMORY.getLong(entry + AROUND);
    }

    /** An event without target and stamp. */
    @Hidden public static void simple(int site) {
        Thread t = Thread.currentThread();
        beforeEvent(t);
        record(t, site);
    }
}
