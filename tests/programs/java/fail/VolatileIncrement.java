// Volatile makes each access visible, not the increment atomic. There is no race here.
// atomic: VolatileIncrement.increment
// expect: violation VolatileIncrement.increment
// on: VolatileIncrement.count

final class VolatileIncrement {
    private volatile long count;

    void increment(Runnable middle) {
        long old = count;
        middle.run();
        count = old + 1;
    }

    public static void main(String[] args) throws InterruptedException {
        VolatileIncrement it = new VolatileIncrement();
        Between.force(it::increment, me -> it.increment(Between::nothing));
        System.out.println(it.count);
    }
}
