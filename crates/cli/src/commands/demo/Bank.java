/**
 * Every access holds the lock: there is no data race, and race detectors are silent. Money is lost
 * all the same.
 */
public final class Bank {
    private int balance;

    synchronized int read() {
        return balance;
    }

    synchronized void write(int amount) {
        balance = amount;
    }

    /** Meant to be atomic, but gives up the lock between reading and writing. */
    void deposit(int amount) {
        int before = read();
        write(before + amount);
    }

    public static void main(String[] args) throws InterruptedException {
        Bank bank = new Bank();
        Runnable customer = () -> {
            for (int i = 0; i < 20_000; i++) {
                bank.deposit(1);
            }
        };
        Thread one = new Thread(customer);
        Thread two = new Thread(customer);
        one.start();
        two.start();
        one.join();
        two.join();
        System.out.println("40000 deposits of 1; the balance is " + bank.read());
    }
}
