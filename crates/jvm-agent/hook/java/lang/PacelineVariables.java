package java.lang;

import static java.lang.PacelineCalls.*;
import static java.lang.PacelineLayout.*;
import static java.lang.PacelineObjects.*;
import static java.lang.PacelineRecords.*;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.Hidden;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * Variables that are reached through a VarHandle, an updater or reflection. They are the variables
 * that code names: the field of an object, a static field, the element of an array.
 *
 * What a handle reaches is asked once and kept with its number: 0 is not known yet, 1 elements of
 * arrays, 2 something that is not understood (a note says so), 3 nothing to observe. With the bit
 * STATIC it is the address of a static field's word, whose last word numbers the variable; else the
 * number of a variable.
 *
 * An access is one step with its stamp: `begin…` holds the stripe and gives the first word of the
 * record, or 0 for no event; `commit…` writes it. An atomic access makes an object shared: the
 * order that it makes must not get lost.
 */
public final class PacelineVariables {
    private PacelineVariables() {}

    private static final long ELEMENTS = 1;
    private static final long LAST_SPECIAL = 3;
    private static final long STATIC = 1L << 62;
    /** In the words of a static field, its number as a variable. */
    private static final int VARIABLE = 24;

    @Hidden @DontInline private static long reached(Object handle, Thread t) {
        PacelineRef entry = entryOf(handle);
        long reached = entry.lock;
        if (reached == 0) {
            reached = PacelineAgent.variableOf(handle, t.$pacelineBuffer);
            entry.lock = reached;
        }
        return reached;
    }

    /**
     * The site for a variable at a call. The last variable and its site are kept with the call's.
     */
    @Hidden private static int siteOf(int site, long variable) {
        long last = MEMORY.getLong(PacelineFilter.siteWord(site));
        return last >>> 32 == variable ? (int) last : PacelineAgent.variableSite(site, variable);
    }

    /** Of a field: (handle, object or null, site, whether it is atomic). */
    @Hidden @DontInline
    public static long beginVariable(Object handle, Object object, int site, int atomic) {
        Thread t = Thread.currentThread();
        free(t);
        if (handle == null) {
            return 0;
        }
        long reached = reached(handle, t);
        if ((reached & STATIC) != 0) {
            return beginStatic(reached & ~STATIC, site, atomic != 0, t);
        }
        if (reached <= LAST_SPECIAL || object == null) {
            return 0;
        }
        int own = siteOf(site, reached);
        if (own == 0) {
            return 0;
        }
        long number = atomic != 0 ? shareNow(object, t) : share(object, t);
        return number == 0 ? 0 : begin(t, number, first(own, number));
    }

    @Hidden private static long begin(Thread t, long key, long first) {
        holdForCall(t, key);
        return first;
    }

    @Hidden private static long beginStatic(long word, int site, boolean atomic, Thread t) {
        long owner = MEMORY.getLongVolatile(null, word);
        if (!atomic && (int) owner == t.$pacelineToken) {
            return 0;
        }
        PacelineHook.shareStaticNow(word, owner);
        PacelineHook.useClass(word, t);
        int own = siteOf(site, MEMORY.getLong(word + VARIABLE));
        return own == 0 ? 0 : begin(t, word, PacelineHook.firstOfStatic(own, word));
    }

    /**
     * Of a field by reflection: the site is that of a plain access; that of an atomic one follows.
     */
    @Hidden @DontInline public static long beginReflected(Object field, Object object, int site) {
        if (field == null || (((Field) field).getModifiers() & Modifier.VOLATILE) == 0) {
            return beginVariable(field, object, site, 0);
        }
        return either(false, beginVariable(field, object, site, 1));
    }

    /** Of an element: (handle, array, index, site, whether it is atomic). */
    @Hidden @DontInline
    public static long beginElement(Object handle, Object array, int index, int site, int atomic) {
        Thread t = Thread.currentThread();
        free(t);
        return handle == null || reached(handle, t) != ELEMENTS ? 0 : beginItem(array, index, site, atomic);
    }

    /** The same by reflection, without a handle. */
    @Hidden @DontInline
    public static long beginItem(Object array, int index, int site, int atomic) {
        Thread t = Thread.currentThread();
        free(t);
        boolean inside = array != null && array.getClass().isArray()
                && index >= 0 && index < Array.getLength(array);
        if (!inside) {
            return 0;
        }
        int hash = System.identityHashCode(array);
        if (atomic == 0 && isOwn(ownerOf(hash), hash, t)) {
            return 0;
        }
        long number = idOf(array);
        own(hash, SHARED);
        return begin(t, PacelineHook.elementKey(number, index), first(site, number));
    }

    @Hidden @ReservedStackAccess @DontInline public static void commitVariable(long first) {
        if (first == 0) {
            return;
        }
        Thread t = Thread.currentThread();
        if (t.$pacelinePending == 0) {
            PacelineAgent.inexact(0);
            return;
        }
        t.$pacelinePending = 0;
        write(t, first);
        PacelineFilter.touched(t);
        letGo(t);
    }

    @Hidden @ReservedStackAccess @DontInline
    public static void commitElement(long first, int index) {
        if (first == 0) {
            return;
        }
        Thread t = Thread.currentThread();
        if (t.$pacelinePending == 0) {
            PacelineAgent.inexact(0);
            return;
        }
        t.$pacelinePending = 0;
        writeAt(t, first, index);
        PacelineFilter.touched(t);
        letGo(t);
    }

    /** The first word if a call has succeeded, else that of the next site. */
    @Hidden private static long either(boolean success, long first) {
        return first == 0 || success ? first : first + 1;
    }

    @Hidden @ReservedStackAccess public static void commitEither(boolean success, long first) {
        commitVariable(either(success, first));
    }

    @Hidden @ReservedStackAccess
    public static void commitEitherElement(boolean success, long first, int index) {
        commitElement(either(success, first), index);
    }

    /** What was held is given back: an exception came. */
    @Hidden @ReservedStackAccess public static void cancelVariable() {
        cancel();
    }

    // ---- whether an exchange has found what it expected

    @Hidden public static boolean met(int found, int expected) {
        return found == expected;
    }

    @Hidden public static boolean met(long found, long expected) {
        return found == expected;
    }

    @Hidden public static boolean met(float found, float expected) {
        return Float.floatToRawIntBits(found) == Float.floatToRawIntBits(expected);
    }

    @Hidden public static boolean met(double found, double expected) {
        return Double.doubleToRawLongBits(found) == Double.doubleToRawLongBits(expected);
    }

    @Hidden public static boolean met(Object found, Object expected) {
        return found == expected;
    }

    // ---- calls of an updater that run code of the application: they are stamped on return

    /** The version of the stripe of an object before the call. */
    @Hidden @DontInline static long version(Object updater, Object object) {
        Thread t = Thread.currentThread();
        free(t);
        return object == null ? 0 : MEMORY.getLongVolatile(null, stripe(shareNow(object, t)));
    }

    @Hidden @DontInline
    static void stampOnReturn(Object updater, Object object, long version, int site) {
        long first = beginVariable(updater, object, site, 1);
        if (first != 0) {
            compare(version, site);
            commitVariable(first);
        }
    }
}
