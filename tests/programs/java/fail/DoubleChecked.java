// Double-checked locking: the first look is without the lock, so another thread can be seen half
// way. Here the instance comes into being between the two looks.
// atomic: DoubleChecked.get
// expect: violation DoubleChecked.get
// on: DoubleChecked, java.lang.Class

final class DoubleChecked {
    private static DoubleChecked instance;
    private static int made;

    static DoubleChecked get(Runnable middle) {
        if (instance == null) {
            middle.run();
            synchronized (DoubleChecked.class) {
                if (instance == null) {
                    instance = new DoubleChecked();
                    made++;
                }
            }
        }
        return instance;
    }

    public static void main(String[] args) throws InterruptedException {
        Between.force(DoubleChecked::get, me -> get(Between::nothing));
        System.out.println(made);
    }
}
