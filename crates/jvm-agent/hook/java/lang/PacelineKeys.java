package java.lang;

import static java.lang.PacelineCalls.*;
import static java.lang.PacelineRecords.*;

import java.lang.invoke.VarHandle;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ConcurrentSkipListSet;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.Hidden;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * Which entry of a concurrent map a key means, where only `equals` can tell: the first of several
 * equal keys is kept, with a number, and stands for all. It is kept softly. If it is gone when an
 * equal one comes, the hash code decides, and a note says so.
 *
 * `equals` and `hashCode` may be the application's. What they do here is not part of what the
 * program does, so the thread is muted: its records go to another buffer that is never sent, and it
 * holds nothing but the spare stripe. What it held is kept in its Outer fields.
 */
final class PacelineKeys {
    private PacelineKeys() {}

    /** Rows of the table; a power of two. */
    private static final int ROWS = 1 << 16;
    /** Marks the index of an Integer; the same as the agent gives to small numbers. */
    private static final long SMALL = 1L << 62;
    /** What the agent gives if only `equals` can tell. */
    private static final long UNKNOWN = -1;

    /** Made when it is needed first: most programs have no such keys. */
    private static volatile PacelineKey[] keys;

    // ---- muted threads

    @Hidden @DontInline private static void mute(Thread t) {
        if (t.$pacelineMuted == 0) {
            ready(t);
            recordBlocks(t);
            if (t.$pacelineDiscard == 0) {
                PacelineAgent.makeDiscard(t);
            }
            t.$pacelineOuterHeld = t.$pacelineHeld;
            t.$pacelineOuterStamp = t.$pacelineStamp;
            t.$pacelineOuterTarget = t.$pacelineTarget;
            t.$pacelineOuterPending = t.$pacelinePending;
            t.$pacelinePending = 0;
            t.$pacelineHeld = 0;
            exchangeBuffers(t);
        }
        t.$pacelineMuted++;
    }

    @Hidden @ReservedStackAccess @DontInline private static void unmute(Thread t) {
        if (--t.$pacelineMuted != 0) {
            return;
        }
        if (t.$pacelineHeld != 0) {
            letGo(t);
        }
        exchangeBuffers(t);
        t.$pacelineHeld = t.$pacelineOuterHeld;
        t.$pacelineStamp = t.$pacelineOuterStamp;
        t.$pacelineTarget = t.$pacelineOuterTarget;
        t.$pacelinePending = t.$pacelineOuterPending;
    }

    // ---- indices of keys

    /**
     * The index of a key of a map: equal for equal keys; different, where that can be known, for
     * others.
     */
    @Hidden @DontInline static long keyOf(Object map, Object key) {
        if (key instanceof Integer) {
            return (Integer) key & 0xffffffffL | SMALL;
        }
        long index = PacelineAgent.keyIndex(key);
        if (index != UNKNOWN) {
            return index;
        }
        // These compare, and do not ask `equals`.
        if (!(map instanceof ConcurrentSkipListMap) && !(map instanceof ConcurrentSkipListSet)) {
            index = internKey(key);
            if (index != 0) {
                return index;
            }
        }
        return PacelineAgent.hashedKey(key);
    }

    /** The number of a key, the same for all that are equal; 0 if it cannot be found out. */
    @Hidden @DontInline private static long internKey(Object key) {
        Thread t = Thread.currentThread();
        mute(t);
        long number;
        try {
            number = findKey(key, t);
        } catch (Throwable e) {
            number = 0;
        }
        unmute(t);
        return number;
    }

    /**
     * A key that is not found is added, unless others were added meanwhile: these are looked at
     * first. Nothing is locked while `equals` runs.
     */
    @Hidden private static long findKey(Object key, Thread t) {
        int hash = key.hashCode();
        PacelineKey searched = null;
        PacelineKey gone = null;
        while (true) {
            PacelineKey first = keys()[rowOf(hash)];
            for (PacelineKey entry = first; entry != searched; entry = entry.next) {
                if (entry.hash != hash) {
                    continue;
                }
                Object kept = entry.get();
                if (kept == null) {
                    gone = entry;
                } else if (kept == key || key.equals(kept)) {
                    return entry.id;
                }
            }
            PacelineKey added = addKey(key, hash, first, gone, t);
            if (added != null) {
                return added.id;
            }
            searched = first;
        }
    }

    @Hidden static int rowOf(int hash) {
        return hash + (hash >> 16) & ROWS - 1;
    }

    @Hidden private static PacelineKey[] keys() {
        if (keys == null) {
            makeKeys();
        }
        return keys;
    }

    @Hidden private static synchronized void makeKeys() {
        if (keys == null) {
            keys = new PacelineKey[ROWS];
        }
    }

    /** Null if the row does not begin with the same entry any more. */
    @Hidden @DontInline private static synchronized PacelineKey addKey(
            Object key, int hash, PacelineKey first, PacelineKey gone, Thread t) {
        int row = rowOf(hash);
        if (keys()[row] != first) {
            return null;
        }
        if (gone != null) {
            PacelineAgent.forgottenKey();
        }
        long id = gone != null ? gone.id : PacelineObjects.newId(t);
        PacelineKey added = new PacelineKey(key, hash, id, first);
        VarHandle.releaseFence();
        keys()[row] = added;
        return added;
    }

    // ---- calls about an entry: the stripe is held. If the key is not the platform's, the thread
    // is muted too, since the map calls `equals` and `hashCode`.

    @Hidden @DontInline static void beginEntry(Object key, Object map, long index) {
        Thread t = Thread.currentThread();
        if (t.$pacelineMuted == 0) {
            beginAt(map, index);
            if (isPlainKey(key)) {
                return;
            }
        }
        mute(t);
    }

    /** Whether the methods of a key run no code of the application. */
    @Hidden private static boolean isPlainKey(Object key) {
        return key == null
                || key instanceof String
                || key instanceof Number && key.getClass().getClassLoader() == null;
    }

    @Hidden @ReservedStackAccess @DontInline static void commitEntry(int site, long index) {
        if (!endEntry()) {
            commitAt(site, index);
        }
    }

    @Hidden @ReservedStackAccess @DontInline static void cancelEntry() {
        if (!endEntry()) {
            cancel();
        }
    }

    /** Ends the muting of a call; whether it was in a larger one. */
    @Hidden @ReservedStackAccess private static boolean endEntry() {
        Thread t = Thread.currentThread();
        if (t.$pacelineMuted == 0) {
            return false;
        }
        unmute(t);
        return t.$pacelineMuted != 0;
    }

    /** The same for calls about an object as a whole, that compare with a parameter. */
    @Hidden @DontInline static void beginMuted(Object parameter, Object object) {
        Thread t = Thread.currentThread();
        if (t.$pacelineMuted == 0) {
            begin(object);
            if (isPlainKey(parameter)) {
                return;
            }
        }
        mute(t);
    }

    @Hidden @ReservedStackAccess @DontInline static void commitMuted(int site) {
        if (!endEntry()) {
            commit(site);
        }
    }

    /** The map that a set is a view of, or the set. */
    @Hidden static Object mapBehind(Object set) {
        return set instanceof ConcurrentHashMap.KeySetView
                ? ((ConcurrentHashMap.KeySetView<?, ?>) set).getMap()
                : set;
    }
}
