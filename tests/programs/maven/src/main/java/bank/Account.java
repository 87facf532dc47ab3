package bank;

/** Its methods hold the lock, but one lets go of it half way. */
public final class Account {
    private int balance;

    public Account(int balance) {
        this.balance = balance;
    }

    public synchronized int balance() {
        return balance;
    }

    public synchronized void deposit(int amount) {
        balance += amount;
    }

    /** Between look and withdrawal another thread may have taken the money. */
    public boolean withdraw(int amount, Runnable middle) {
        if (balance() < amount) {
            return false;
        }
        middle.run();
        deposit(-amount);
        return true;
    }
}
