// Outside of blocks each event stands for itself: the second read of `first` comes behind that of
// `second`, and so behind the block's write, while the one before does not.
// atomic: OutsideOfBlocks.both
// expect: violation OutsideOfBlocks.both
// on: OutsideOfBlocks

final class OutsideOfBlocks {
    private int first;
    private int second;

    void both(Runnable middle) {
        second = 1;
        middle.run();
        first = 1;
    }

    public static void main(String[] args) throws InterruptedException {
        OutsideOfBlocks it = new OutsideOfBlocks();
        int[] seen = new int[1];
        Between.force(it::both, me -> seen[0] = it.first + 10 * it.second + 100 * it.first);
        System.out.println(seen[0]);
    }
}
