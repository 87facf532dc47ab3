// One critical section became two: the lock is released between the check and the act.
// atomic: SplitSection.withdraw
// expect: violation SplitSection.withdraw
// on: SplitSection, ReentrantLock

import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

final class SplitSection {
    private final Lock lock = new ReentrantLock();
    private int balance = 100;

    private int balance() {
        lock.lock();
        try {
            return balance;
        } finally {
            lock.unlock();
        }
    }

    boolean withdraw(int amount, Runnable middle) {
        if (balance() < amount) {
            return false;
        }
        middle.run();
        lock.lock();
        try {
            balance -= amount;
            return true;
        } finally {
            lock.unlock();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        SplitSection it = new SplitSection();
        Between.force(
                middle -> it.withdraw(80, middle), me -> it.withdraw(80, Between::nothing));
        System.out.println(it.balance());
    }
}
