package java.lang;

import static java.lang.PacelineLayout.MEMORY;
import static java.lang.PacelineObjects.*;
import static java.lang.PacelineRecords.*;

import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.concurrent.CountedCompleter;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import java.util.concurrent.locks.ReentrantLock;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.Hidden;

/**
 * Threads, and what orders them in the platform: what code calls that is inserted into classes of
 * the platform, or that takes the place of calls of them.
 */
public final class PacelinePlatform {
    private PacelinePlatform() {}

    private static final long BARRIER_ACTION = offset(CyclicBarrier.class, "barrierCommand");
    private static final long CONDITION_OF =
            offset(AbstractQueuedSynchronizer.ConditionObject.class, "this$0");
    /** From the sites of a wait or a barrier to those of the order that comes with it. */
    private static final int ORDER_SITES = 2;

    // ---- threads

    @Hidden public static void fork(Object child) {
        Thread t = Thread.currentThread();
        if (t.$pacelineCarrier == 0) {
            PacelineCalls.giveUp(t);
            settle(t);
            PacelineAgent.fork((Thread) child, t.$pacelineBuffer);
        }
    }

    @Hidden public static void ended(Object thread) {
        Thread t = (Thread) thread;
        if (t.$pacelineBuffer != 0) {
            if (t.$pacelineHeld != 0) {
                letGo(t);
            }
            PacelineAgent.ended(t, t.$pacelineBuffer);
        }
    }

    @Hidden public static void joined(Object thread) {
        Thread other = (Thread) thread;
        if (!other.isAlive() && other.$pacelineToken != 0) {
            Thread t = Thread.currentThread();
            PacelineCalls.giveUp(t);
            settle(t);
            PacelineAgent.joined(other, t.$pacelineBuffer);
        }
    }

    /** A method `isAlive` of an object of the application has returned. */
    @Hidden public static void wasAlive(Object object, int alive) {
        if (alive == 0 && object instanceof Thread) {
            joined(object);
        }
    }

    // ---- events of objects

    @Hidden @DontInline public static void record(Object object, int site) {
        if (object != null) {
            Thread t = Thread.currentThread();
            ready(t);
            if (t.$pacelineCarrier == 0) {
                stamped(t, site, idOf(object));
            }
        }
    }

    /** A barrier: enter or exit, and if it has an action, the order that this needs. */
    @Hidden static void recordBarrier(Object barrier, int site) {
        record(barrier, site);
        if (barrier != null && MEMORY.getReference(barrier, BARRIER_ACTION) != null) {
            record(barrier, site + ORDER_SITES);
        }
    }

    /** The result of a future was read, and is given back. */
    @Hidden public static Object result(Object future, Object result, int site) {
        if (result != null) {
            record(future, site);
        }
        return result;
    }

    /** The same event for all of an array. */
    @Hidden public static void recordAll(Object array, int site) {
        if (array != null) {
            Object[] objects = (Object[]) array;
            for (int i = 0; i < objects.length; i++) {
                record(objects[i], site);
            }
        }
    }

    /** An event of the root of a task. */
    @Hidden public static void recordRoot(Object task, int site) {
        record(((CountedCompleter<?>) task).getRoot(), site);
    }

    // ---- waiting for a monitor that the thread holds

    /** The number of a monitor that the thread holds, else 0. */
    @Hidden private static long heldMonitor(Object object, Thread t) {
        if (object == null) {
            return 0;
        }
        long number = monitorOf(object);
        return PacelineHook.holds(t, number, t.$pacelineLockCount) ? number : 0;
    }

    /** One half of a wait. */
    @Hidden static void recordWait(Object object, int site) {
        Thread t = Thread.currentThread();
        long number = heldMonitor(object, t);
        if (number != 0) {
            stamped(t, site, number);
        }
    }

    /** A notify, which takes no stamp. */
    @Hidden static void recordNotify(Object object, int site) {
        Thread t = Thread.currentThread();
        long number = heldMonitor(object, t);
        if (number != 0) {
            beforeEvent(t);
            PacelineRecords.record(t, first(site, number));
        }
    }

    // ---- locks of java.util.concurrent: their holds are counted by the agent

    /**
     * Where the application calls a lock. Those of its own classes are recorded by the platform's
     * methods.
     */
    @Hidden @DontInline static void recordLock(Object lock, int site) {
        if (!isOwnLock(lock)) {
            recordAnyLock(lock, site);
        }
    }

    @Hidden @DontInline private static void recordAnyLock(Object lock, int site) {
        if (lock != null) {
            Thread t = Thread.currentThread();
            settle(t);
            lockEvent(t, lock, lockOf(lock), site);
        }
    }

    @Hidden private static void lockEvent(Thread t, Object lock, long number, int site) {
        PacelineCalls.avoid(t, number);
        PacelineAgent.lockEvent(lock, number, site, t.$pacelineBuffer);
    }

    /** A condition belongs to a lock. */
    @Hidden static void belongs(Object lock, Object condition) {
        if (condition != null) {
            entryOf(condition).lock = lockOf(lock);
        }
    }

    /**
     * One half of a wait for a condition. If nothing is known of its lock, it is one of a
     * synchronizer of the application, which is released, and acquired again.
     */
    @Hidden @DontInline static void recordCondition(Object condition, int site) {
        if (condition == null) {
            return;
        }
        long lock = entryOf(condition).lock;
        if (lock != 0) {
            Thread t = Thread.currentThread();
            settle(t);
            lockEvent(t, condition, lock, site);
        } else if (condition instanceof AbstractQueuedSynchronizer.ConditionObject) {
            record(MEMORY.getReference(condition, CONDITION_OF), site + ORDER_SITES);
        }
    }

    /** Whether it is a lock of a class that the application makes from ReentrantLock. */
    @Hidden private static boolean isOwnLock(Object lock) {
        return lock instanceof ReentrantLock
                && lock.getClass() != ReentrantLock.class
                && lock.getClass().getClassLoader() != null;
    }

    @Hidden public static void recordOwnLock(Object lock, int site) {
        if (isOwnLock(lock)) {
            recordAnyLock(lock, site);
        }
    }

    @Hidden public static void recordOwnLock(int success, Object lock, int site) {
        if (success != 0) {
            recordOwnLock(lock, site);
        }
    }

    @Hidden public static void ownCondition(Object condition, Object lock) {
        if (isOwnLock(lock)) {
            belongs(lock, condition);
        }
    }

    // ---- synchronizers of the application, of whatever class the object is

    @Hidden @DontInline public static void recordSync(Object object, int site) {
        if (object instanceof AbstractQueuedSynchronizer) {
            record(object, site);
        }
    }

    @Hidden public static void recordSuccess(Object object, int success, int site) {
        if (success != 0) {
            recordSync(object, site);
        }
    }

    @Hidden public static void recordPermit(Object object, int permits, int site) {
        if (permits >= 0) {
            recordSync(object, site);
        }
    }

    /** What has been acquired inside the platform; the platform's own do not count. */
    @Hidden public static void recordOwnSync(int success, Object object, int site) {
        if (success != 0 && object.getClass().getClassLoader() != null) {
            record(object, site);
        }
    }

    // ---- what reflection shows: not the fields and methods that were added

    private static final String ADDED = "$paceline";

    @Hidden public static Field[] withoutAdded(Field[] fields) {
        return without(fields);
    }

    @Hidden public static Method[] withoutAdded(Method[] methods) {
        return without(methods);
    }

    @Hidden private static <M extends Member> M[] without(M[] members) {
        M[] rest = members.clone();
        int kept = 0;
        for (int i = 0; i < members.length; i++) {
            if (!members[i].getName().startsWith(ADDED)) {
                rest[kept++] = members[i];
            }
        }
        return kept == members.length ? members : Arrays.copyOf(rest, kept);
    }
}
