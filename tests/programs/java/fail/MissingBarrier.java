// A round reads its neighbours while one of them is already in the next round.
// atomic: MissingBarrier.average, MissingBarrier.step
// expect: violation MissingBarrier.average
// on: double[]

final class MissingBarrier {
    private final double[] cells = {1, 2, 3};

    double average(Runnable middle) {
        double left = cells[0];
        middle.run();
        return (left + cells[2]) / 2;
    }

    void step() {
        for (int i = 0; i < cells.length; i++) {
            cells[i] *= 2;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        MissingBarrier it = new MissingBarrier();
        double[] seen = new double[1];
        Between.force(middle -> seen[0] = it.average(middle), me -> it.step());
        System.out.println(seen[0]);
    }
}
