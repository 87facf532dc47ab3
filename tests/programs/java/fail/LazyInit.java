// Lazy initialisation without any lock: two threads make two instances.
// atomic: LazyInit.table
// expect: violation LazyInit.table
// on: LazyInit.table

final class LazyInit {
    private int[] table;

    int[] table(Runnable middle) {
        if (table == null) {
            middle.run();
            table = new int[8];
        }
        return table;
    }

    public static void main(String[] args) throws InterruptedException {
        LazyInit it = new LazyInit();
        int[][] seen = new int[2][];
        Between.force(
                middle -> seen[0] = it.table(middle), me -> seen[1] = it.table(Between::nothing));
        System.out.println(seen[0] == seen[1]);
    }
}
