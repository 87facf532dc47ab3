final class Account {
    private int balance;

    /** Meant to be atomic: no other thread may come between the look and the change. */
    boolean withdraw(int amount) {
        int now = balance;
        if (now < amount) {
            return false;
        }
        balance = now - amount;
        return true;
    }

    /** Meant to be atomic. */
    void deposit(int amount) {
        balance += amount;
    }

    int balance() {
        return balance;
    }
}

final class Bank {
    private final Account savings = new Account();
    private final Account checking = new Account();
    private int audits;

    /** Meant to be atomic: a customer's money is always in one of the two. */
    void transfer(int amount) {
        if (savings.withdraw(amount)) {
            checking.deposit(amount);
        }
    }

    /** Meant to be atomic: the sum must not miss a transfer. */
    synchronized int audit() {
        int sum = checking.balance();
        sum += savings.balance();
        audits++;
        return sum;
    }
}
