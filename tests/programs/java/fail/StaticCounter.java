// A static counter without a lock: one of two increments is lost.
// atomic: StaticCounter.increment
// expect: violation StaticCounter.increment
// on: StaticCounter.count

final class StaticCounter {
    private static int count;

    static void increment(Runnable middle) {
        int old = count;
        middle.run();
        count = old + 1;
    }

    public static void main(String[] args) throws InterruptedException {
        Between.force(StaticCounter::increment, me -> increment(Between::nothing));
        System.out.println(count);
    }
}
