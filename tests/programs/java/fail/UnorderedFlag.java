// A result is handed over through fields that are not volatile: nothing orders the two threads.
// property: race
// expect: race
// on: UnorderedFlag

final class UnorderedFlag {
    private int result;
    private boolean ready;

    void finish() {
        result = 42;
        ready = true;
    }

    int look() {
        return ready ? result : -1;
    }

    public static void main(String[] args) throws InterruptedException {
        UnorderedFlag it = new UnorderedFlag();
        Turn turn = new Turn();
        int[] seen = new int[1];
        Workers.each(
                me -> {
                    it.finish();
                    turn.give();
                },
                me -> {
                    turn.await();
                    seen[0] = it.look();
                });
        System.out.println(seen[0]);
    }
}
