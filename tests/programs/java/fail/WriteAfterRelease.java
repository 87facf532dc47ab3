// The first write is ordered by the lock, the second one, in the same block, is behind the release.
// property: race
// expect: race
// on: WriteAfterRelease.value

final class WriteAfterRelease {
    private int value;

    void set() {
        synchronized (this) {
            value = 1;
        }
        value = 2;
    }

    int get() {
        synchronized (this) {
            // Only to come behind the release.
        }
        return value;
    }

    public static void main(String[] args) throws InterruptedException {
        WriteAfterRelease it = new WriteAfterRelease();
        Turn turn = new Turn();
        int[] seen = new int[1];
        Workers.each(
                me -> {
                    it.set();
                    turn.give();
                },
                me -> {
                    turn.await();
                    seen[0] = it.get();
                });
        System.out.println(seen[0]);
    }
}
