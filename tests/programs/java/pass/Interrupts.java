// Waits of every kind that end by an interrupt: what was not acquired was not acquired.
// atomic: Interrupts.guarded

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

final class Interrupts {
    interface Blocks {
        void run() throws InterruptedException;
    }

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition condition = lock.newCondition();
    private final Semaphore semaphore = new Semaphore(0);
    private int value;

    void guarded() {
        lock.lock();
        try {
            int old = value;
            Workers.mix();
            value = old + 1;
        } finally {
            lock.unlock();
        }
    }

    private void interrupted(String name, Blocks blocks) throws InterruptedException {
        String[] result = {"came back"};
        Thread thread = new Thread(() -> {
            try {
                blocks.run();
            } catch (InterruptedException e) {
                result[0] = "interrupted";
            }
            guarded();
        });
        thread.start();
        while (thread.getState() == Thread.State.RUNNABLE || thread.getState() == Thread.State.NEW) {
            Thread.yield();
        }
        thread.interrupt();
        thread.join(0);
        System.out.println(name + " " + result[0]);
    }

    private synchronized void waits() throws InterruptedException {
        synchronized (this) {
            wait();
        }
    }

    private void awaits() throws InterruptedException {
        lock.lock();
        try {
            condition.await();
        } finally {
            lock.unlock();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Interrupts it = new Interrupts();
        ReentrantLock held = new ReentrantLock();
        held.lock();
        Thread main = Thread.currentThread();
        it.interrupted("wait", it::waits);
        it.interrupted("await", it::awaits);
        it.interrupted("sleep", () -> Thread.sleep(1_000_000));
        it.interrupted("join", main::join);
        it.interrupted("lock", held::lockInterruptibly);
        it.interrupted("acquire", it.semaphore::acquire);
        it.interrupted("latch", new CountDownLatch(1)::await);
        it.interrupted("take", new ArrayBlockingQueue<Integer>(1)::take);
        it.interrupted("park", LockSupport::park);
        held.unlock();
        Workers.all(3, me -> {
            for (int i = 0; i < 50; i++) {
                it.guarded();
            }
        });
        System.out.println(it.value);
    }
}
