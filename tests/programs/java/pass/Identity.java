// Many arrays and objects, half of them used by each thread: two of them have the same identity
// hash, but no two are the same.
// atomic: Identity.first, Identity.second

final class Identity {
    private static final int COUNT = 100_000;

    private static int first(int[][] arrays, int from) {
        return both(arrays, from);
    }

    private static int second(int[][] arrays, int from) {
        return both(arrays, from);
    }

    /** Reads all of its own, then writes all of its own. */
    private static int both(int[][] arrays, int from) {
        int sum = 0;
        for (int i = from; i < arrays.length; i += 2) {
            sum += arrays[i][0];
        }
        for (int i = from; i < arrays.length; i += 2) {
            arrays[i][0] = sum;
        }
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        int[][] arrays = new int[COUNT][1];
        for (int i = 0; i < COUNT; i++) {
            arrays[i][0] = 1;
        }
        int[] sums = new int[2];
        Workers.each(me -> sums[0] = first(arrays, 0), me -> sums[1] = second(arrays, 1));
        System.out.println(sums[0] + " " + sums[1] + " " + arrays[0][0] + " " + arrays[1][0]);
    }
}
