// The same with a static field that the block writes, and that another thread reads in between.
// atomic: RepeatedStatic.count
// expect: violation RepeatedStatic.count
// on: RepeatedStatic.counter

final class RepeatedStatic {
    private static int counter = 1;

    static void count(Runnable middle) {
        for (int i = 0; i < 2000; i++) {
            counter = i;
            if (i == 1000) {
                middle.run();
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int[] seen = new int[1];
        Between.force(RepeatedStatic::count, me -> seen[0] = counter);
        System.out.println(seen[0] + " " + counter);
    }
}
