// Two threads swap buffers: one fills what the other has drained.
// atomic: Exchangers.fill, Exchangers.drain

import java.util.concurrent.Exchanger;

final class Exchangers {
    private static void fill(int[] buffer, int value) {
        buffer[0] = value;
        Workers.mix();
        buffer[1] = buffer[0] + 1;
    }

    private static int drain(int[] buffer) {
        int sum = buffer[0];
        Workers.mix();
        sum += buffer[1];
        buffer[0] = 0;
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        Exchanger<int[]> exchanger = new Exchanger<>();
        int[] total = new int[1];
        Workers.each(
                me -> {
                    int[] buffer = new int[2];
                    for (int i = 0; i < 100; i++) {
                        fill(buffer, i);
                        buffer = exchanger.exchange(buffer);
                    }
                },
                me -> {
                    int[] buffer = new int[2];
                    for (int i = 0; i < 100; i++) {
                        buffer = exchanger.exchange(buffer);
                        total[0] += drain(buffer);
                    }
                });
        System.out.println(total[0]);
    }
}
