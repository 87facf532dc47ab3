// options: low
package explicit;

import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

class Account {
    private final ReentrantLock lock = new ReentrantLock();
    private final ReadWriteLock rw = new ReentrantReadWriteLock();
    private final StampedLock stamped = new StampedLock();
    int balance;

    int get() {
        lock.lock();
        try {
            return balance;
        } finally {
            lock.unlock();
        }
    }

    void set(int value) {
        lock.lock();
        try {
            balance = value;
        } finally {
            lock.unlock();
        }
    }

    int read() {
        rw.readLock().lock();
        try {
            return balance;
        } finally {
            rw.readLock().unlock();
        }
    }

    void write(int value) {
        rw.writeLock().lock();
        try {
            balance = value;
        } finally {
            rw.writeLock().unlock();
        }
    }

    void stamp() {
        long stamp = stamped.writeLock();
        try {
            balance++;
        } finally {
            stamped.unlockWrite(stamp);
        }
    }

    boolean tryIt() {
        if (!lock.tryLock()) return false;
        try {
            balance++;
            return true;
        } finally {
            lock.unlock();
        }
    }
}

class Views {
    private final ReentrantReadWriteLock both = new ReentrantReadWriteLock();
    private final Lock read = both.readLock();
    private final Lock write = both.writeLock();
    int value;

    void change() {
        write.lock();
        try {
            look();
            look();
        } finally {
            write.unlock();
        }
    }

    int look() {
        read.lock();
        try {
            return value;
        } finally {
            read.unlock();
        }
    }
}

class Bank {
    private final Lock lock = new ReentrantLock();
    private final Object monitor = new Object();

    synchronized void deposit(Account a) {
        a.set(a.get() + 1); // WARN locked-twice high
    }

    synchronized void upgrade(Account a) {
        a.write(a.read() + 1); // WARN locked-twice high
    }

    synchronized void stamps(Account a) {
        a.stamp();
        a.stamp(); // WARN locked-twice medium
    }

    synchronized void tries(Account a) {
        a.tryIt();
        a.tryIt(); // WARN locked-twice low
    }

    void explicitContext(Account a) {
        lock.lock();
        try {
            a.get();
            a.get(); // WARN locked-twice medium
        } finally {
            lock.unlock();
        }
    }

    void released(Account a) {
        lock.lock();
        try {
            a.get();
        } finally {
            lock.unlock();
        }
        a.get();
    }

    synchronized void differentLocks(Account a) {
        a.get();
        a.read();
    }
}
