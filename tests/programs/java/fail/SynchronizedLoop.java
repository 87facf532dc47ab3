// A loop over a synchronized list: each call is synchronized, the loop is not, and the list shrinks.
// atomic: SynchronizedLoop.sum
// expect: violation SynchronizedLoop.sum
// on: Synchronized

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

final class SynchronizedLoop {
    static int sum(List<Integer> list, Runnable middle) {
        int sum = 0;
        for (int i = list.size() - 1; i >= 0; i--) {
            middle.run();
            try {
                sum += list.get(i);
            } catch (IndexOutOfBoundsException e) {
                return -1;
            }
        }
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        List<Integer> list = Collections.synchronizedList(new ArrayList<>(List.of(5)));
        int[] sum = new int[1];
        Between.force(middle -> sum[0] = sum(list, middle), me -> list.clear());
        System.out.println(sum[0]);
    }
}
