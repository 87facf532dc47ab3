package java.lang;

/**
 * For the compiler only, never shipped: java.lang.Thread with the fields that the agent adds to it
 * (THREAD_FIELDS in src/rewrite/platform.rs), and the methods that the hook calls.
 */
public class Thread implements Runnable {
    /** The number of the thread and one; 0: it has none yet. */
    int $pacelineToken;
    /** Its buffer of records. */
    long $pacelineBuffer;
    /** The stripe that it holds, or 0, and its stamp. */
    long $pacelineHeld;
    long $pacelineStamp;
    /** Whether what is held has not been recorded yet. */
    int $pacelinePending;
    /** The number of the object between two hooks. */
    long $pacelineTarget;

    /** How many blocks are open, how many of them have been recorded, and their table. */
    int $pacelineDepth;
    int $pacelineBegun;
    long $pacelineBlocks;
    int $pacelineBlockRoom;
    /** The numbers of the monitors that it holds. */
    long $pacelineLocks;
    int $pacelineLockCount;
    int $pacelineLockRoom;
    /** Which class initialisers it knows to have ended. */
    long $pacelineUsed;
    int $pacelineUsedRoom;
    /** Object numbers to be given. */
    long $pacelineNextId;
    long $pacelineLastId;
    /** Whether it carries virtual threads: it must not wait for a monitor that one of them may have. */
    int $pacelineCarrier;

    /** The stripe of a call that runs code of the application: see PacelineCalls. */
    int $pacelineAsideUsed;
    long $pacelineAsideHeld;
    long $pacelineAsideStamp;
    long $pacelineAsideTarget;

    /** How often it is muted, its buffer that is never sent, and its state before: see PacelineKeys. */
    int $pacelineMuted;
    long $pacelineDiscard;
    int $pacelineOuterPending;
    long $pacelineOuterHeld;
    long $pacelineOuterStamp;
    long $pacelineOuterTarget;

    /** Its transaction, numbers for more, and what it has recorded: see PacelineFilter. */
    long $pacelineTx;
    long $pacelineNextTx;
    long $pacelineLastTx;
    long $pacelineChanges;
    long $pacelineFilter;
    long $pacelineChance;
    /** The window in which it is throttled, and the one that its budget is for. */
    long $pacelineThrottled;
    long $pacelineWindow;
    int $pacelineBudget;

    public static native Thread currentThread();

    public final native boolean isAlive();

    @Override
    public void run() {}
}
