package java.lang;

import static java.lang.PacelineLayout.*;

import java.lang.invoke.VarHandle;
import java.lang.ref.ReferenceQueue;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;

/**
 * Which thread owns an object, and the numbers of objects that records name.
 *
 * Objects of the application have a word: their number (high half), and the token of the one thread
 * that has touched them (low half; all bits set: several have). Numbers are given when an object
 * becomes shared or is used as a lock. Arrays and objects of the platform have their numbers in a
 * weak table; the owners of arrays are in a table by identity hash, which forgets what collides.
 */
final class PacelineObjects {
    private PacelineObjects() {}

    /** The low half of a word, or the owner of an array, that several threads have touched. */
    static final int SHARED = -1;
    private static final long SHARED_HALF = 0xffffffffL;
    /** Rows of the table at first; it grows. */
    private static final int ROWS = 16384;

    private static final PacelineClasses CLASSES = new PacelineClasses();
    private static final ReferenceQueue<Object> QUEUE = new ReferenceQueue<>();
    private static volatile PacelineRef[] table = new PacelineRef[ROWS];
    private static int count;

    @Hidden static long factsOf(Object object) {
        return CLASSES.get(object.getClass());
    }

    @Hidden static long newId(Thread t) {
        long next = t.$pacelineNextId;
        if (next == t.$pacelineLastId) {
            next = PacelineAgent.moreIds(t);
        }
        t.$pacelineNextId = next + 1;
        return next;
    }

    // ---- words

    @Hidden private static long sharedWord(long number) {
        return number << 32 | SHARED_HALF;
    }

    /** The number of an object if it is shared, 0 if this thread has it for its own. */
    @Hidden @DontInline static long share(Object object, Thread t) {
        PacelineRecords.ready(t);
        long facts = factsOf(object);
        long offset = facts >>> 32;
        if (offset == 0) {
            return 0;
        }
        while (true) {
            long word = MEMORY.getLongVolatile(object, offset);
            if ((int) word == t.$pacelineToken) {
                return 0;
            }
            if (word == 0) {
                if (MEMORY.compareAndSetLong(object, offset, 0, t.$pacelineToken)) {
                    return 0;
                }
                continue;
            }
            long number = shareWord(object, offset, word, facts, t);
            if (number != 0) {
                return number;
            }
        }
    }

    /** The number of an object that is shared from now on. */
    @Hidden @DontInline static long shareNow(Object object, Thread t) {
        long facts = factsOf(object);
        long offset = facts >>> 32;
        if (offset == 0) {
            return idOf(object);
        }
        while (true) {
            long word = MEMORY.getLongVolatile(object, offset);
            long number = shareWord(object, offset, word, facts, t);
            if (number != 0) {
                return number;
            }
        }
    }

    /** Makes an object shared whose word is this, and numbers it; 0 if the word has changed. */
    @Hidden
    private static long shareWord(Object object, long offset, long word, long facts, Thread t) {
        long number = word >>> 32;
        if ((int) word == SHARED) {
            return number;
        }
        boolean isNew = number == 0;
        if (isNew) {
            number = newId(t);
        }
        if (!MEMORY.compareAndSetLong(object, offset, word, sharedWord(number))) {
            return 0;
        }
        if (isNew) {
            PacelineRecords.announce(t, number, facts);
        }
        return number;
    }

    /** The word of an object that is shared from the start. */
    @Hidden static long born(Object object, long word) {
        if (word >>> 32 != 0) {
            return word | SHARED_HALF;
        }
        Thread t = Thread.currentThread();
        PacelineRecords.ready(t);
        long number = newId(t);
        PacelineRecords.announce(t, number, factsOf(object));
        return sharedWord(number);
    }

    /** A copy must not have the number of its original. */
    @Hidden static void cloned(Object original, Object copy) {
        if (copy == null || original == copy || original.getClass() != copy.getClass()) {
            return;
        }
        long offset = factsOf(copy) >>> 32;
        if (offset == 0) {
            return;
        }
        long word = MEMORY.getLongVolatile(copy, offset);
        if (word != MEMORY.getLongVolatile(original, offset)) {
            return;
        }
        long own = (int) word == SHARED ? born(copy, 0) : Thread.currentThread().$pacelineToken;
        MEMORY.putLong(copy, offset, own);
    }

    // ---- owners of arrays

    @Hidden @ForceInline private static long ownerEntry(int hash) {
        return ((long) (hash & OWNER_MASK) << 3) + OWNERS;
    }

    /** The entry for a hash in the table of owners. */
    @Hidden @ForceInline static long ownerOf(int hash) {
        return MEMORY.getLong(ownerEntry(hash));
    }

    /** Whether an entry says that the thread owns what has this hash. */
    @Hidden @ForceInline static boolean isOwn(long entry, int hash, Thread t) {
        return entry == ((long) hash << 32 | t.$pacelineToken);
    }

    /** Notes the owner of what has this hash. */
    @Hidden static void own(int hash, int token) {
        MEMORY.putLong(ownerEntry(hash), (long) hash << 32 | token & 0xffffffffL);
    }

    /** The number of an array if it is shared, 0 if this thread has it for its own. */
    @Hidden @ForceInline static long shareArray(Object array, Thread t, int hash, long entry) {
        if ((int) (entry >>> 32) == hash) {
            if ((int) entry == t.$pacelineToken) {
                return 0;
            }
            long number = idOf(array);
            own(hash, SHARED);
            return number;
        }
        // The table of owners may have forgotten it; what is numbered is shared.
        PacelineRef known = find(array, hash);
        if (known == null) {
            own(hash, t.$pacelineToken);
            return 0;
        }
        return known.id;
    }

    // ---- numbers of all other objects: a weak table

    @Hidden @ForceInline private static PacelineRef find(Object object, int hash) {
        PacelineRef[] rows = table;
        PacelineRef entry = rows[hash & rows.length - 1];
        while (entry != null && (entry.hash != hash || entry.get() != object)) {
            entry = entry.next;
        }
        return entry;
    }

    @Hidden static long idOf(Object object) {
        return entryOf(object).id;
    }

    @Hidden static PacelineRef entryOf(Object object) {
        return entryOf(object, object);
    }

    /** The same; if it is new, it is called as another object is. */
    @Hidden private static PacelineRef entryOf(Object object, Object namesake) {
        int hash = System.identityHashCode(object);
        PacelineRef known = find(object, hash);
        if (known != null) {
            return known;
        }
        Thread t = Thread.currentThread();
        PacelineRecords.ready(t);
        return add(object, namesake, hash, t);
    }

    @Hidden @DontInline private static synchronized PacelineRef add(
            Object object, Object namesake, int hash, Thread t) {
        PacelineRef known = find(object, hash);
        if (known != null) {
            return known;
        }
        forget();
        if (count >= table.length) {
            grow();
        }
        PacelineRef entry = new PacelineRef(object, QUEUE, hash, number(object, namesake, t));
        link(entry, table);
        count++;
        return entry;
    }

    /** The number for an object that is new in the table. If it has a word, the number is there. */
    @Hidden static long number(Object object, Object namesake, Thread t) {
        long facts = object instanceof Class ? PacelineAgent.classObject(object) : factsOf(object);
        long offset = facts >>> 32;
        long number;
        if (offset == 0) {
            number = newId(t);
        } else {
            while (true) {
                long word = MEMORY.getLongVolatile(object, offset);
                if (word >>> 32 != 0) {
                    return word >>> 32;
                }
                number = newId(t);
                if (MEMORY.compareAndSetLong(object, offset, word, word | number << 32)) {
                    break;
                }
            }
        }
        PacelineRecords.announce(t, number, namesake == object ? facts : factsOf(namesake));
        return number;
    }

    /** Puts an entry first into its row. */
    @Hidden private static void link(PacelineRef entry, PacelineRef[] rows) {
        int row = entry.hash & rows.length - 1;
        entry.next = rows[row];
        VarHandle.releaseFence();
        rows[row] = entry;
    }

    /** A search that runs meanwhile may miss an entry; it is made again under the lock. */
    @Hidden private static void grow() {
        PacelineRef[] old = table;
        PacelineRef[] rows = new PacelineRef[old.length << 1];
        for (int i = 0; i < old.length; i++) {
            for (PacelineRef entry = old[i]; entry != null; ) {
                PacelineRef next = entry.next;
                link(entry, rows);
                entry = next;
            }
        }
        table = rows;
    }

    /** Takes out the entries of objects that are gone. */
    @Hidden private static void forget() {
        for (Object gone = QUEUE.poll(); gone != null; gone = QUEUE.poll()) {
            PacelineRef[] rows = table;
            int row = ((PacelineRef) gone).hash & rows.length - 1;
            PacelineRef before = null;
            for (PacelineRef entry = rows[row]; entry != null; entry = entry.next) {
                if (entry == gone) {
                    count--;
                    if (before == null) {
                        rows[row] = entry.next;
                    } else {
                        before.next = entry.next;
                    }
                    break;
                }
                before = entry;
            }
        }
    }

    // ---- monitors and locks. The monitor of a lock, condition or synchronizer of the platform is
    // not the lock: it has a number of its own.

    @Hidden static long monitorOf(Object object) {
        PacelineRef entry = entryOf(object);
        long monitor = entry.monitor;
        return monitor != 0 ? monitor : numberMonitor(object, entry);
    }

    @Hidden @DontInline
    private static synchronized long numberMonitor(Object object, PacelineRef entry) {
        if (entry.monitor == 0) {
            long number = entry.id;
            if (isSynchronizer(object)) {
                Thread t = Thread.currentThread();
                number = newId(t);
                PacelineRecords.announce(t, number, factsOf(object));
            }
            entry.monitor = number;
        }
        return entry.monitor;
    }

    @Hidden private static boolean isSynchronizer(Object object) {
        Class<?> type = object.getClass();
        return type.getClassLoader() == null && type.getName().startsWith("java.util.concurrent.");
    }

    private static final long LOCK_SYNC = offset(ReentrantLock.class, "sync");
    private static final long READ_SYNC = offset(ReentrantReadWriteLock.ReadLock.class, "sync");
    private static final long WRITE_SYNC = offset(ReentrantReadWriteLock.WriteLock.class, "sync");
    private static final Class<?> READ_VIEW =
            type("java.util.concurrent.locks.StampedLock$ReadLockView");
    private static final Class<?> WRITE_VIEW =
            type("java.util.concurrent.locks.StampedLock$WriteLockView");
    private static final long READ_VIEWED = offset(READ_VIEW, "this$0");
    private static final long WRITE_VIEWED = offset(WRITE_VIEW, "this$0");

    @Hidden static long offset(Class<?> type, String field) {
        return MEMORY.objectFieldOffset(type, field);
    }

    @Hidden private static Class<?> type(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException e) {
            throw new NoClassDefFoundError(name);
        }
    }

    /**
     * The number of a lock of java.util.concurrent. The halves of a read-write lock are one lock.
     */
    @Hidden static long lockOf(Object lock) {
        if (lock instanceof ReentrantLock) {
            return entryOf(MEMORY.getReference(lock, LOCK_SYNC), lock).id;
        }
        if (lock instanceof ReentrantReadWriteLock.ReadLock) {
            return idOf(MEMORY.getReference(lock, READ_SYNC));
        }
        if (lock instanceof ReentrantReadWriteLock.WriteLock) {
            return idOf(MEMORY.getReference(lock, WRITE_SYNC));
        }
        if (READ_VIEW.isInstance(lock)) {
            return idOf(MEMORY.getReference(lock, READ_VIEWED));
        }
        if (WRITE_VIEW.isInstance(lock)) {
            return idOf(MEMORY.getReference(lock, WRITE_VIEWED));
        }
        return idOf(lock);
    }
}
