// A semaphore as a lock, one that is released by another thread than the one that acquired it, and
// one that hands out places.
// atomic: Semaphores.guarded, Semaphores.use, Semaphores.attempt

import java.util.concurrent.Semaphore;

final class Semaphores {
    private static final int PLACES = 2;
    private final Semaphore mutex = new Semaphore(1);
    private final Semaphore permits = new Semaphore(PLACES);
    private final boolean[] busy = new boolean[PLACES];
    private final int[][] places = new int[PLACES][2];
    private int plus;
    private int minus;

    void guarded() throws InterruptedException {
        mutex.acquire();
        plus++;
        Workers.mix();
        minus--;
        mutex.release();
    }

    boolean attempt() {
        if (!mutex.tryAcquire()) {
            return false;
        }
        plus++;
        Workers.mix();
        minus--;
        mutex.release();
        return true;
    }

    private synchronized int pick() {
        int place = busy[0] ? 1 : 0;
        busy[place] = true;
        return place;
    }

    private synchronized void free(int place) {
        busy[place] = false;
    }

    void use(int place) {
        int old = places[place][0];
        Workers.mix();
        places[place][1]--;
        places[place][0] = old + 1;
    }

    public static void main(String[] args) throws InterruptedException {
        Semaphores it = new Semaphores();
        Workers.all(4, me -> {
            for (int i = 0; i < 50; i++) {
                it.guarded();
                while (!it.attempt()) {
                    Thread.yield();
                }
                it.permits.acquireUninterruptibly();
                int place = it.pick();
                it.use(place);
                it.free(place);
                it.permits.release();
            }
        });
        System.out.println(it.plus + " " + it.minus + " " + (it.places[0][0] + it.places[1][0])
                + " " + (it.places[0][1] + it.places[1][1]));
        pingPong();
    }

    private static void pingPong() throws InterruptedException {
        Semaphore ping = new Semaphore(1);
        Semaphore pong = new Semaphore(0);
        int[] ball = new int[1];
        Workers.each(me -> play(ping, pong, ball), me -> play(pong, ping, ball));
        System.out.println(ball[0]);
    }

    private static void play(Semaphore mine, Semaphore yours, int[] ball)
            throws InterruptedException {
        for (int i = 0; i < 100; i++) {
            mine.acquire();
            ball[0]++;
            yours.release();
        }
    }
}
