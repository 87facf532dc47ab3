// The same with elements of an array, which share what says that another thread was there.
// atomic: RepeatedElement.sum
// expect: violation RepeatedElement.sum
// on: int[]

final class RepeatedElement {
    private final int[] values = {1, 2, 3, 4, 5};

    int sum(Runnable middle) {
        int sum = 0;
        for (int i = 0; i < 2000; i++) {
            sum += values[i % values.length];
            if (i == 1000) {
                middle.run();
            }
        }
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        RepeatedElement it = new RepeatedElement();
        int[] sum = new int[1];
        Between.force(middle -> sum[0] = it.sum(middle), me -> it.values[3] = 9);
        System.out.println(sum[0]);
    }
}
