// Values that are read under a lock and relied on after it was released.
package stale;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

class Counter {
    private int value;
    private int other;

    synchronized int get() {
        return value;
    }

    synchronized void set(int v) {
        value = v;
    }

    synchronized int other() {
        return other;
    }

    void add(int n) {
        set(get() + n); // WARN stale-read high
    }

    synchronized void addLocked(int n) {
        set(get() + n);
    }

    void resetIfLarge() {
        if (get() > 100) {
            set(0); // WARN stale-read high
        }
    }

    void unrelatedField() {
        if (other() > 100) {
            set(0);
        }
    }

    void unrelatedValue() {
        System.out.println(get());
        set(0);
    }

    void blocks() {
        int seen;
        synchronized (this) {
            seen = value;
        }
        if (seen == 0) {
            synchronized (this) { // WARN stale-read high
                value = 1;
            }
        }
    }

    void blocksTestedAgain() {
        int seen;
        synchronized (this) {
            seen = value;
        }
        if (seen == 0) {
            synchronized (this) {
                if (value == 0) {
                    value = 1;
                }
            }
        }
    }

    private synchronized void raise() {
        if (value == 0) {
            value = 1;
        }
    }

    void testedAgainInHelper() {
        int seen;
        synchronized (this) {
            seen = value;
        }
        if (seen == 0) {
            synchronized (this) {
                raise();
            }
        }
    }

    private void calledLocked() {
        if (get() > 100) {
            set(0);
        }
    }

    synchronized void locks() {
        calledLocked();
    }
}

class Buffer {
    private final ReentrantLock lock = new ReentrantLock();
    private final Object[] items = new Object[10];
    private int size;

    boolean full() {
        lock.lock();
        try {
            return size == items.length;
        } finally {
            lock.unlock();
        }
    }

    void put(Object o) {
        lock.lock();
        try {
            store(o);
        } finally {
            lock.unlock();
        }
    }

    private void store(Object o) {
        items[size++] = o;
    }

    boolean putIfRoom(Object o) {
        lock.lock();
        try {
            if (size == items.length) return false;
            store(o);
            return true;
        } finally {
            lock.unlock();
        }
    }

    void offer(Object o) {
        if (!full()) {
            put(o); // WARN stale-read high
        }
    }

    boolean offerRight(Object o) {
        return !full() && putIfRoom(o);
    }
}

class Cache {
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    private final Map<String, Object> map = new HashMap<>();

    Object upgraded(String key) {
        Object value;
        lock.readLock().lock();
        try {
            value = map.get(key);
        } finally {
            lock.readLock().unlock();
        }
        if (value == null) {
            lock.writeLock().lock(); // WARN stale-read high
            try {
                value = new Object();
                map.put(key, value);
            } finally {
                lock.writeLock().unlock();
            }
        }
        return value;
    }

    Object upgradedRight(String key) {
        Object value;
        lock.readLock().lock();
        try {
            value = map.get(key);
        } finally {
            lock.readLock().unlock();
        }
        if (value == null) {
            lock.writeLock().lock();
            try {
                value = map.get(key);
                if (value == null) {
                    value = new Object();
                    map.put(key, value);
                }
            } finally {
                lock.writeLock().unlock();
            }
        }
        return value;
    }
}

class Stamped {
    private final StampedLock lock = new StampedLock();
    private int x;

    void converted() {
        long stamp = lock.readLock();
        try {
            while (x == 0) {
                long write = lock.tryConvertToWriteLock(stamp);
                if (write != 0) {
                    stamp = write;
                    x = 1;
                    break;
                }
                lock.unlockRead(stamp);
                stamp = lock.writeLock();
            }
        } finally {
            lock.unlock(stamp);
        }
    }
}

class Segment extends ReentrantLock {
    private volatile int count;

    void grow() {
        lock();
        try {
            count++;
        } finally {
            unlock();
        }
    }
}
