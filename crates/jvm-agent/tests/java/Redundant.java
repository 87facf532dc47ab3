import java.util.concurrent.atomic.AtomicInteger;

/** Blocks that do the same again and again, in a thread that did not make what they use. */
public class Redundant {
    int read;
    int written;
    int locked;
    int often;
    volatile int loud;
    static int count;
    final long[] cells = new long[3];
    final AtomicInteger atomic = new AtomicInteger();

    long reads() {
        long sum = 0;
        for (int i = 0; i < 100; i++) {
            sum += read + count + cells[2];
        }
        return sum;
    }

    int writes() {
        int sum = 0;
        for (int i = 0; i < 100; i++) {
            written = i;
            sum += written;
        }
        return sum;
    }

    int orders() {
        int sum = 0;
        for (int i = 0; i < 100; i++) {
            sum += loud + atomic.get();
        }
        return sum;
    }

    void locks() {
        for (int i = 0; i < 10; i++) {
            locked = i;
            synchronized (this) {
                locked = i;
            }
        }
    }

    void around() {
        for (int i = 0; i < 5000; i++) {
            inside();
        }
    }

    void inside() {
        often++;
        often++;
    }

    public static void main(String[] args) throws Exception {
        Redundant it = new Redundant();
        long[] sum = new long[1];
        Thread thread = new Thread(() -> {
            sum[0] = it.reads() + it.writes() + it.orders();
            it.locks();
            it.around();
        });
        thread.start();
        thread.join();
        System.out.println(sum[0]);
    }
}
