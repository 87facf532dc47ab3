// A field is read again and again in one block, which need not be recorded; but the reads after another
// thread's write are others.
// atomic: RepeatedRead.sum
// expect: violation RepeatedRead.sum
// on: RepeatedRead.value

final class RepeatedRead {
    private int value = 1;

    int sum(Runnable middle) {
        int sum = 0;
        for (int i = 0; i < 2000; i++) {
            sum += value;
            if (i == 1000) {
                middle.run();
            }
        }
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        RepeatedRead it = new RepeatedRead();
        int[] sum = new int[1];
        Between.force(middle -> sum[0] = it.sum(middle), me -> it.value = 2);
        System.out.println(sum[0]);
    }
}
