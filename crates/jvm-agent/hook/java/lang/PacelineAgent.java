package java.lang;

/**
 * The part of the agent that runs rarely, and is native (crates/jvm-agent/src/runtime).
 *
 * None of these throws, and none stops the program. If one fails, recording ends: what it returns
 * is still safe to go on with.
 */
final class PacelineAgent {
    private PacelineAgent() {}

    /** A value of {@link PacelineLayout}, by its name. */
    static native long constant(String name);

    /** Gives a thread its token and its buffer. */
    static native void prepare(Thread thread);

    /** Gives a thread a buffer that is never sent. */
    static native void makeDiscard(Thread thread);

    /** Sends the records of a full buffer, and starts at its front. */
    static native void drain(long buffer);

    /** Makes room for more open blocks; or, if there is no memory, does not. */
    static native void growBlocks(Thread thread);

    /** Makes room for more monitors; or, if there is no memory, does not. */
    static native void growLocks(Thread thread);

    /** Takes more object numbers for a thread; the first of them. */
    static native long moreIds(Thread thread);

    /**
     * Takes more transaction numbers, and the filter of a thread if it has none; the first number.
     */
    static native long moreTransactions(Thread thread);

    /**
     * Takes a stripe that other threads want too, and sets these flags: its old value, or, as a
     * guest of a call that holds it, the complement of its value.
     */
    static native long seize(long stripe, long flags);

    /**
     * Where a class keeps the word of its objects (high half, 0: nowhere) and its number (low
     * half).
     */
    static native long classFacts(Class<?> type);

    /**
     * The same for an object that is a class: its number stands for a name like `Account.class`.
     */
    static native long classObject(Object type);

    /** The facts of a site. */
    static native long siteFacts(int site);

    /** The facts of a site that accesses a field of an object, whose class has these facts. */
    static native long fieldFacts(Object object, int site, long classFacts);

    /** Where the word of the static field at a site is; 1: nothing to observe. */
    static native long resolve(int site, long buffer);

    /** A thread uses a class for the first time. */
    static native void firstUse(Thread thread, long initialiser, long buffer);

    /** The class whose static method has just been entered. */
    static native Class<?> callingClass();

    /** The current thread is about to start another one. */
    static native void fork(Thread child, long buffer);

    /** A thread has recorded its last event. */
    static native void ended(Thread thread, long buffer);

    /** The current thread has seen the end of another one. */
    static native void joined(Thread ended, long buffer);

    /** An event of a lock of java.util.concurrent, whose holds the agent counts. */
    static native void lockEvent(Object lock, long number, int site, long buffer);

    /** An event could not be ordered exactly. */
    static native void inexact(int site);

    /** A stack was full. */
    static native void overflowed();

    /** An object is used in a way that is not modelled. */
    static native void unmodelled(Object object);

    /** The index of a key as far as it follows from the key alone, else -1. */
    static native long keyIndex(Object key);

    /** An index by the hash code only, with a note. */
    static native long hashedKey(Object key);

    /** A key was forgotten, and an equal one has come; notes it. */
    static native void forgottenKey();

    /** What a handle, updater or Field reaches: see {@link PacelineVariables}. */
    static native long variableOf(Object handle, long buffer);

    /** The site for a variable at a call. */
    static native int variableSite(int site, long variable);
}
