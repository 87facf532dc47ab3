// Start and join are all the order there is: a tree of threads, each with its part of an array.
// atomic: StartJoin.leaf, StartJoin.total

final class StartJoin extends Thread {
    private final int[] data;
    private final int from;
    private final int to;
    private int sum;

    StartJoin(int[] data, int from, int to) {
        this.data = data;
        this.from = from;
        this.to = to;
    }

    private void leaf() {
        for (int i = from; i < to; i++) {
            sum += data[i];
            data[i] *= 2;
        }
    }

    @Override
    public void run() {
        if (to - from <= 16) {
            leaf();
            return;
        }
        int middle = (from + to) / 2;
        StartJoin left = new StartJoin(data, from, middle);
        StartJoin right = new StartJoin(data, middle, to);
        left.start();
        right.start();
        try {
            left.join();
            right.join(100_000);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        sum = left.sum + right.sum;
    }

    private static int total(int[] data) {
        int sum = 0;
        for (int value : data) {
            sum += value;
        }
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        int[] data = new int[256];
        for (int i = 0; i < data.length; i++) {
            data[i] = i;
        }
        StartJoin top = new StartJoin(data, 0, data.length);
        top.start();
        top.join();
        System.out.println(top.sum + " " + total(data) + " " + top.isAlive());
    }
}
