// Classes of the application that extend those of java.util.concurrent, and synchronizers of its own.
// atomic: Extended.add, Extended.count, Extended.put, Extended.guard, Extended.opened
// gap: a class that extends java.util.concurrent

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

final class Extended {
    static final class CountingLock extends ReentrantLock {
        private static final long serialVersionUID = 1;
        private int taken;

        @Override
        public void lock() {
            super.lock();
            taken++;
        }
    }

    static final class Count extends AtomicLong {
        private static final long serialVersionUID = 1;

        long next() {
            return incrementAndGet();
        }
    }

    static final class Table extends ConcurrentHashMap<String, Integer> {
        private static final long serialVersionUID = 1;
        private volatile int puts;

        @Override
        public Integer put(String key, Integer value) {
            puts = puts + 1;
            return super.put(key, value);
        }
    }

    static final class Mutex {
        private static final class Sync extends AbstractQueuedSynchronizer {
            private static final long serialVersionUID = 1;

            @Override
            protected boolean tryAcquire(int ignored) {
                return compareAndSetState(0, 1);
            }

            @Override
            protected boolean tryRelease(int ignored) {
                setState(0);
                return true;
            }

            @Override
            protected boolean isHeldExclusively() {
                return getState() == 1;
            }

            Condition condition() {
                return new ConditionObject();
            }
        }

        private final Sync sync = new Sync();
        final Condition changed = sync.condition();

        void lock() throws InterruptedException {
            if (!sync.tryAcquireNanos(1, 1_000_000_000L)) {
                sync.acquire(1);
            }
        }

        boolean tryLock() {
            return sync.tryAcquire(1);
        }

        void unlock() {
            sync.release(1);
        }
    }

    static final class Gate extends AbstractQueuedSynchronizer {
        private static final long serialVersionUID = 1;

        @Override
        protected int tryAcquireShared(int ignored) {
            return getState() == 0 ? -1 : 1;
        }

        @Override
        protected boolean tryReleaseShared(int ignored) {
            setState(1);
            return true;
        }

        void open() {
            releaseShared(0);
        }

        void await() throws InterruptedException {
            acquireSharedInterruptibly(0);
        }

        boolean isOpen() {
            return getState() == 1;
        }
    }

    private final CountingLock lock = new CountingLock();
    private final Count count = new Count();
    private final Table table = new Table();
    private final Mutex mutex = new Mutex();
    private final Gate gate = new Gate();
    private int sum;
    private int guarded;
    private int turn;
    private int made;

    void add(int by) {
        lock.lock();
        try {
            int old = sum;
            Workers.mix();
            sum = old + by;
        } finally {
            lock.unlock();
        }
    }

    long count() {
        return count.next();
    }

    void put(Map<String, Integer> to, int value) {
        to.put("by", value);
    }

    void guard() throws InterruptedException {
        if (!mutex.tryLock()) {
            mutex.lock();
        }
        try {
            int old = guarded;
            Workers.mix();
            guarded = old + 1;
        } finally {
            mutex.unlock();
        }
    }

    int opened() {
        return gate.isOpen() ? made : 0;
    }

    private void takeTurns(int me) throws InterruptedException {
        mutex.lock();
        try {
            while (turn % 2 != me) {
                mutex.changed.await();
            }
            turn++;
            mutex.changed.signalAll();
        } finally {
            mutex.unlock();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Extended it = new Extended();
        Workers.all(3, me -> {
            for (int i = 0; i < 50; i++) {
                it.add(i);
                it.count();
                it.guard();
                if (me < 2) {
                    it.takeTurns(me);
                }
                if (me == 2) {
                    it.put(it.table, i);
                }
            }
            if (me == 0) {
                it.made = 7;
                it.gate.open();
            } else if (me == 1) {
                it.gate.await();
                it.add(it.made - 7);
            } else {
                it.opened();
            }
        });
        System.out.println(it.sum + " " + it.count.get() + " " + it.guarded + " " + it.turn + " "
                + it.lock.taken + " " + it.table.puts + " " + it.table.get("by"));
    }
}
