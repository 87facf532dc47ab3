// Divide and conquer in the fork/join pool, and a parallel stream. To fork and join inside is not
// atomic; each leaf is.
// atomic: ForkJoin.leaf

import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.RecursiveTask;
import java.util.stream.IntStream;

final class ForkJoin {
    private static long leaf(int[] data, int from, int to) {
        long sum = 0;
        for (int i = from; i < to; i++) {
            sum += data[i];
            data[i] = -data[i];
        }
        return sum;
    }

    @SuppressWarnings("serial")
    static final class Sum extends RecursiveTask<Long> {
        private final int[] data;
        private final int from;
        private final int to;

        Sum(int[] data, int from, int to) {
            this.data = data;
            this.from = from;
            this.to = to;
        }

        @Override
        protected Long compute() {
            if (to - from <= 8) {
                return leaf(data, from, to);
            }
            int middle = (from + to) / 2;
            Sum left = new Sum(data, from, middle);
            Sum right = new Sum(data, middle, to);
            left.fork();
            long sum = right.compute();
            return sum + left.join();
        }
    }

    @SuppressWarnings("serial")
    static final class Negate extends RecursiveAction {
        private final int[] data;
        private final int from;
        private final int to;

        Negate(int[] data, int from, int to) {
            this.data = data;
            this.from = from;
            this.to = to;
        }

        @Override
        protected void compute() {
            if (to - from <= 8) {
                leaf(data, from, to);
            } else {
                int middle = (from + to) / 2;
                invokeAll(new Negate(data, from, middle), new Negate(data, middle, to));
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int[] data = new int[512];
        for (int i = 0; i < data.length; i++) {
            data[i] = i;
        }
        ForkJoinPool pool = new ForkJoinPool(3);
        long sum = pool.invoke(new Sum(data, 0, data.length));
        long again = pool.submit(new Sum(data, 0, data.length)).get();
        pool.invoke(new Negate(data, 0, data.length));
        System.out.println(sum + " " + again + " " + leaf(data, 0, data.length));
        IntStream.range(0, data.length).parallel().forEach(i -> leaf(data, i, i + 1));
        System.out.println(data[0] + " " + data[1] + " " + data[511]);
        pool.shutdown();
    }
}
