// ReentrantLock in all its forms: lock, tryLock that fails, tryLock with time, interruptibly, fair,
// taken again by the holder, and released by an exception.
// atomic: Locks.guarded, Locks.outer, Locks.attempt, Locks.timed, Locks.interruptible, Locks.throwing

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

final class Locks {
    private final ReentrantLock lock;
    private int plus;
    private int minus;

    Locks(boolean fair) {
        lock = new ReentrantLock(fair);
    }

    private void work() {
        plus++;
        Workers.mix();
        minus--;
    }

    void guarded() {
        lock.lock();
        try {
            work();
        } finally {
            lock.unlock();
        }
    }

    void outer() {
        lock.lock();
        try {
            guarded();
            Workers.mix();
            guarded();
        } finally {
            lock.unlock();
        }
    }

    boolean attempt() {
        if (!lock.tryLock()) {
            return false;
        }
        try {
            work();
            return true;
        } finally {
            lock.unlock();
        }
    }

    boolean timed() throws InterruptedException {
        if (!lock.tryLock(100, TimeUnit.SECONDS)) {
            return false;
        }
        try {
            work();
            return true;
        } finally {
            lock.unlock();
        }
    }

    void interruptible() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            work();
        } finally {
            lock.unlock();
        }
    }

    void throwing() {
        lock.lock();
        try {
            work();
            throw new IllegalStateException();
        } finally {
            lock.unlock();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        for (boolean fair : new boolean[] {false, true}) {
            Locks it = new Locks(fair);
            Workers.all(3, me -> {
                for (int i = 0; i < 40; i++) {
                    it.guarded();
                    it.outer();
                    while (!it.attempt()) {
                        Thread.yield();
                    }
                    if (!it.timed()) {
                        System.out.println("timed out");
                    }
                    it.interruptible();
                    try {
                        it.throwing();
                    } catch (IllegalStateException expected) {
                        continue;
                    }
                }
            });
            System.out.println(it.plus + " " + it.minus);
        }
    }
}
