// The trace of the introduction of the Velodrome paper: a cycle through three threads, by a lock, by
// y and by x. No variable and no lock connects the first and the second with both ends.
// atomic: ThreeThreads.first
// expect: violation ThreeThreads.first
// on: ThreeThreads

final class ThreeThreads {
    private int x;
    private int y;
    private int z;

    int first(Runnable middle) {
        synchronized (this) {
            z = 1;
        }
        middle.run();
        return x;
    }

    void second() {
        synchronized (this) {
            z = 2;
        }
        y = 1;
    }

    void third() {
        x = y;
    }

    public static void main(String[] args) throws InterruptedException {
        ThreeThreads it = new ThreeThreads();
        Turn second = new Turn();
        Turn third = new Turn();
        Turn first = new Turn();
        int[] result = new int[1];
        Workers.each(
                me -> result[0] = it.first(() -> {
                    second.give();
                    first.await();
                }),
                me -> {
                    second.await();
                    it.second();
                    third.give();
                },
                me -> {
                    third.await();
                    it.third();
                    first.give();
                });
        System.out.println(result[0] + " " + it.z);
    }
}
