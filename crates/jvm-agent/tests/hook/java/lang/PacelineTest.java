package java.lang;

import static java.lang.PacelineLayout.*;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Unit tests of the hook, run inside java.base under the agent with tiny buffers that have guard
 * pages after them (tests/hook.rs). Prints the name of each test; what fails throws.
 */
public final class PacelineTest {
    private PacelineTest() {}

    private static final Thread T = Thread.currentThread();

    public static void main(String[] args) throws Exception {
        PacelineRecords.ready(T);
        stampsCountVersions();
        whatIsCancelledLeavesNoTrace();
        guestsHaveVersionsOfTheirOwn();
        aStripeThatIsHeldIsGivenUp();
        recordsHaveRoomInEveryPosition();
        pendingCallsHaveRoomInEveryPosition();
        accessesOfATransactionCoverLaterOnes();
        otherTransactionsEndThat();
        blocksAndMonitorsNestDeeply();
        equalKeysHaveOneIndex();
        failingKeysFallBackOnTheirHash();
        objectsKeepTheirNumbers();
        arraysHaveOwners();
        aMonitorIsNotItsLock();
        mutedThreadsRecordNothing();
    }

    private static void check(boolean holds, Object about) {
        if (!holds) {
            throw new AssertionError(about);
        }
    }

    private static void passed(String name) {
        System.out.println(name);
    }

    /** Records that are in the buffer, in words. */
    private static long written() {
        return MEMORY.getLong(T.$pacelineBuffer);
    }

    // ---- stripes

    private static void stampsCountVersions() {
        for (long key = 0; key < 100; key++) {
            long stripe = PacelineRecords.stripe(key);
            check((stripe - STRIPES) % 32 == 0 && stripe < SPARE_STRIPE, key);
            long before = MEMORY.getLong(stripe);
            PacelineRecords.hold(T, key);
            check(MEMORY.getLong(stripe) == (before | 1) && T.$pacelineHeld == stripe, key);
            long version = T.$pacelineStamp & (1L << STAMP_SHIFT) - 1;
            check(version == before >>> 1, version);
            check(T.$pacelineStamp >>> STAMP_SHIFT == (stripe - STRIPES) / 32, T.$pacelineStamp);
            PacelineRecords.write(T, ORDER_SITE);
            PacelineRecords.letGo(T);
            check(MEMORY.getLong(stripe) == before + 2 && T.$pacelineHeld == 0, key);
        }
        passed("stampsCountVersions");
    }

    private static void whatIsCancelledLeavesNoTrace() {
        Object object = new Object();
        long stripe = PacelineRecords.stripe(PacelineObjects.idOf(object));
        long before = MEMORY.getLong(stripe);
        long written = written();
        PacelineCalls.begin(object);
        check(MEMORY.getLong(stripe) == (before | PacelineRecords.HELD | PacelineRecords.CALL), before);
        PacelineCalls.cancel();
        check(MEMORY.getLong(stripe) == before && T.$pacelineHeld == 0, before);
        check(written() <= written, written);
        passed("whatIsCancelledLeavesNoTrace");
    }

    /** The version of a guest is not given again, whether the call is recorded or cancelled. */
    private static void guestsHaveVersionsOfTheirOwn() {
        Object object = new Object();
        long stripe = PacelineRecords.stripe(PacelineObjects.idOf(object));
        for (boolean cancelled : new boolean[] {false, true}) {
            long before = MEMORY.getLong(stripe);
            PacelineCalls.begin(object);
            long guest = PacelineAgent.seize(stripe, PacelineRecords.HELD);
            check(~guest == before + 2, guest);
            if (cancelled) {
                PacelineCalls.cancel();
            } else {
                PacelineCalls.commit((int) ORDER_SITE);
            }
            check(MEMORY.getLong(stripe) == before + 4, before);
        }
        passed("guestsHaveVersionsOfTheirOwn");
    }

    /** A call within a call about the same object takes the stripe that is set aside. */
    private static void aStripeThatIsHeldIsGivenUp() {
        Object object = new Object();
        long version = PacelineCalls.beginCallback(object);
        check(version == -1 && T.$pacelineAsideHeld != 0 && T.$pacelineHeld == 0, version);
        PacelineCalls.begin(object);
        check(T.$pacelineAsideHeld == 0 && T.$pacelineHeld != 0, "given up");
        PacelineCalls.cancel();
        PacelineCalls.endCallback(object, version, (int) ORDER_SITE);
        check(T.$pacelineAsideUsed == 0 && T.$pacelineHeld == 0 && T.$pacelinePending == 0, "ended");
        passed("aStripeThatIsHeldIsGivenUp");
    }

    // ---- room. The buffer has a guard page after it.

    private static long lastPlace() {
        return MEMORY.getLong(T.$pacelineBuffer + LAST_PLACE);
    }

    /** Fills the buffer up to the last word, and one record more, with records that only order. */
    private static void fill(int words) {
        for (int i = 0; i < words; i++) {
            PacelineRecords.recordHere(T, 0);
        }
    }

    private static void recordsHaveRoomInEveryPosition() {
        for (int i = 0; i < 200; i++) {
            fill(i % 23);
            check(PacelineRecords.place(T) <= lastPlace(), i);
            PacelineRecords.hold(T, i);
            PacelineRecords.writeAt(T, ORDER_SITE, i);
            PacelineRecords.letGo(T);
            PacelineRecords.announce(T, i + 1, 0);
        }
        passed("recordsHaveRoomInEveryPosition");
    }

    /** What is recorded inside of a call does not take the room of its own record. */
    private static void pendingCallsHaveRoomInEveryPosition() {
        Object map = new Object();
        for (int i = 0; i < 200; i++) {
            long version = PacelineCalls.beginCallbackAt(map, i);
            fill(i % 23);
            if (i % 3 == 0) {
                PacelineCalls.giveUp(T);
            }
            if (i % 5 == 0) {
                PacelineCalls.cancelCallback(version);
            } else {
                PacelineCalls.endCallbackAt(map, i, version, (int) ORDER_SITE);
            }
            check(T.$pacelineHeld == 0 && written() <= lastPlace() + 24, i);
        }
        passed("pendingCallsHaveRoomInEveryPosition");
    }

    // ---- redundant accesses

    private static void accessesOfATransactionCoverLaterOnes() {
        long stripe = PacelineRecords.stripe(7);
        T.$pacelineTx = 0;
        check(!PacelineFilter.isRedundant(T, 1, 0, stripe), "nothing yet");
        PacelineFilter.recorded(T, 1, 0, stripe);
        check(PacelineFilter.isRedundant(T, 1, 0, stripe), "a read covers reads");
        check(!PacelineFilter.isRedundant(T, 1, WRITE, stripe), "but no writes");
        check(!PacelineFilter.isRedundant(T, 2, 0, stripe), "of another variable");
        PacelineFilter.recorded(T, 1, WRITE, stripe);
        check(PacelineFilter.isRedundant(T, 1, WRITE, stripe), "a write covers writes");
        check(PacelineFilter.isRedundant(T, 1, 0, stripe), "and reads");
        passed("accessesOfATransactionCoverLaterOnes");
    }

    private static void otherTransactionsEndThat() {
        long stripe = PacelineRecords.stripe(8);
        T.$pacelineTx = 0;
        PacelineFilter.recorded(T, 1, WRITE, stripe);
        PacelineFilter.recorded(T, 2, 0, stripe);
        long first = T.$pacelineTx;
        T.$pacelineTx = 0;
        PacelineFilter.recorded(T, 3, 0, stripe);
        check(T.$pacelineTx != first, first);
        T.$pacelineTx = first;
        check(PacelineFilter.isRedundant(T, 2, 0, stripe), "a read of another one harms no read");
        check(!PacelineFilter.isRedundant(T, 1, WRITE, stripe), "but a write");
        T.$pacelineTx = 0;
        PacelineFilter.recorded(T, 3, WRITE, stripe);
        T.$pacelineTx = first;
        check(!PacelineFilter.isRedundant(T, 2, 0, stripe), "a write harms reads");
        T.$pacelineTx = 0;
        passed("otherTransactionsEndThat");
    }

    // ---- blocks and monitors

    private static void blocksAndMonitorsNestDeeply() {
        int depth = 1000;
        for (int i = 0; i < depth; i++) {
            PacelineHook.enter(0);
            PacelineHook.beforeLock(PacelineTest.class);
            PacelineHook.locked((int) ORDER_SITE);
        }
        check(T.$pacelineDepth == depth && T.$pacelineLockCount == depth, T.$pacelineDepth);
        for (int i = 0; i < depth; i++) {
            PacelineHook.release((int) ORDER_SITE);
            PacelineHook.exit(0);
        }
        check(T.$pacelineDepth == 0 && T.$pacelineLockCount == 0, T.$pacelineDepth);
        // What was never entered is not left.
        PacelineHook.exit(0);
        PacelineHook.release((int) ORDER_SITE);
        check(T.$pacelineDepth == 0 && T.$pacelineLockCount == 0, T.$pacelineDepth);
        passed("blocksAndMonitorsNestDeeply");
    }

    // ---- keys

    private static long key(Object key) {
        return PacelineKeys.keyOf(new ConcurrentHashMap<>(), key);
    }

    private static void equalKeysHaveOneIndex() {
        check(key(List.of(1, 2)) == key(Arrays.asList(1, 2)), "lists");
        check(key(List.of(1, 2)) != key(List.of(2, 1)), "different lists");
        check(key("Aa") != key("BB") && key("Aa") == key(new String("Aa")), "strings of one hash code");
        check(key(7) == key(Integer.valueOf("7")) && key(7) != key(7L) && key(7) != key((short) 7), "numbers");
        check(key(-1) != key(-1L), "negative numbers");
        for (int hash : new int[] {0, 1, -1, 1 << 16, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
            int row = PacelineKeys.rowOf(hash);
            check(row >= 0 && row < 1 << 16, hash);
        }
        passed("equalKeysHaveOneIndex");
    }

    private static final class Failing {
        @Override
        public int hashCode() {
            return 3;
        }

        @Override
        public boolean equals(Object other) {
            throw new IllegalStateException();
        }
    }

    private static void failingKeysFallBackOnTheirHash() {
        long first = key(new Failing());
        check(key(new Failing()) == key(new Failing()), first);
        check(T.$pacelineMuted == 0 && T.$pacelineHeld == 0, "not muted any more");
        passed("failingKeysFallBackOnTheirHash");
    }

    // ---- numbers of objects

    private static void objectsKeepTheirNumbers() {
        int count = 40_000;
        Object[] objects = new Object[count];
        long[] numbers = new long[count];
        for (int i = 0; i < count; i++) {
            objects[i] = new Object();
            numbers[i] = PacelineObjects.idOf(objects[i]);
        }
        for (int i = 0; i < count; i++) {
            check(PacelineObjects.idOf(objects[i]) == numbers[i], i);
        }
        Arrays.sort(numbers);
        for (int i = 1; i < count; i++) {
            check(numbers[i - 1] < numbers[i], i);
        }
        passed("objectsKeepTheirNumbers");
    }

    private static void arraysHaveOwners() {
        int[] array = new int[4];
        int hash = System.identityHashCode(array);
        PacelineHook.made(array);
        check(PacelineObjects.isOwn(PacelineObjects.ownerOf(hash), hash, T), "made here");
        PacelineObjects.own(hash, T.$pacelineToken + 1);
        long number = PacelineObjects.shareArray(array, T, hash, PacelineObjects.ownerOf(hash));
        check(number == PacelineObjects.idOf(array), number);
        check((int) PacelineObjects.ownerOf(hash) == PacelineObjects.SHARED, "shared for ever");
        // The table of owners has forgotten it, the table of numbers has not.
        check(PacelineObjects.shareArray(array, T, hash, 0) == number, number);
        passed("arraysHaveOwners");
    }

    private static void aMonitorIsNotItsLock() {
        ReentrantLock lock = new ReentrantLock();
        check(PacelineObjects.lockOf(lock) != PacelineObjects.monitorOf(lock), "a lock");
        AtomicInteger atomic = new AtomicInteger();
        check(PacelineObjects.idOf(atomic) != PacelineObjects.monitorOf(atomic), "an atomic object");
        Object object = new Object();
        check(PacelineObjects.idOf(object) == PacelineObjects.monitorOf(object), "any other");
        passed("aMonitorIsNotItsLock");
    }

    // ---- muted threads

    private static void mutedThreadsRecordNothing() {
        Object map = new Object();
        long buffer = T.$pacelineBuffer;
        PacelineKeys.beginEntry(new Failing(), map, 1);
        check(T.$pacelineMuted == 1 && T.$pacelineBuffer != buffer, "muted");
        PacelinePlatform.record(new Object(), (int) ORDER_SITE);
        fill(30);
        PacelineKeys.commitEntry((int) ORDER_SITE, 1);
        check(T.$pacelineMuted == 0 && T.$pacelineBuffer == buffer && T.$pacelineHeld == 0, "no more");
        passed("mutedThreadsRecordNothing");
    }
}
