// Getter and setter are synchronized, the increment made of them is not.
// atomic: LostUpdate.increment
// expect: violation LostUpdate.increment
// on: LostUpdate

final class LostUpdate {
    private int value;

    synchronized int get() {
        return value;
    }

    synchronized void set(int value) {
        this.value = value;
    }

    void increment(Runnable middle) {
        int old = get();
        middle.run();
        set(old + 1);
    }

    public static void main(String[] args) throws InterruptedException {
        LostUpdate it = new LostUpdate();
        Between.force(it::increment, me -> it.increment(Between::nothing));
        System.out.println(it.get());
    }
}
