// The first use of a class in a block is ordered after its initialiser. That is no step of the block:
// with the lock that follows it is reducible. (It was an atomic access: a false warning.)
// atomic: FirstUses.deposit
// property: reduction, race

final class FirstUses {
    private static Object lock = new Object();
    private static int balance;

    static void deposit() {
        synchronized (lock) {
            balance++;
        }
    }

    static int total() {
        synchronized (lock) {
            return balance;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Workers.all(2, me -> deposit());
        System.out.println(total());
    }
}
