// A transfer takes from one account and gives to the other, each under its lock; an auditor who
// sums up in between misses the money.
// atomic: Bank.transfer, Bank.audit
// expect: violation Bank.transfer
// on: Bank$Account

final class Bank {
    static final class Account {
        private int balance;

        Account(int balance) {
            this.balance = balance;
        }

        synchronized void change(int by) {
            balance += by;
        }

        synchronized int balance() {
            return balance;
        }
    }

    static void transfer(Account from, Account to, int amount, Runnable middle) {
        from.change(-amount);
        middle.run();
        to.change(amount);
    }

    static int audit(Account... accounts) {
        int sum = 0;
        for (Account account : accounts) {
            sum += account.balance();
        }
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        Account one = new Account(100);
        Account two = new Account(100);
        int[] seen = new int[1];
        Between.force(middle -> transfer(one, two, 30, middle), me -> seen[0] = audit(one, two));
        System.out.println(seen[0] + " " + audit(one, two));
    }
}
