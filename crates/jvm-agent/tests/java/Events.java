import java.util.concurrent.locks.ReentrantLock;

/** A known sequence of events: two threads, one after the other. */
public class Events {
    int plain;
    volatile int loud;
    static int count;
    final int[] cells = new int[2];
    final ReentrantLock lock = new ReentrantLock();

    synchronized void locked() {
        again();
    }

    synchronized void again() {
        plain++;
    }

    void mixed() {
        loud = plain;
        count++;
        cells[1]++;
        lock.lock();
        lock.lock();
        lock.unlock();
        lock.unlock();
    }

    public static void main(String[] args) throws Exception {
        Events events = new Events();
        Runnable both = () -> {
            events.locked();
            events.mixed();
        };
        for (int i = 0; i < 2; i++) {
            Thread thread = new Thread(both, "worker" + i);
            thread.start();
            thread.join();
        }
        System.out.println(events.plain + " " + events.loud + " " + count + " " + events.cells[1]);
    }
}
