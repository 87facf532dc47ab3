// Objects that only one thread ever touches, by a ThreadLocal, by a local variable, or because
// they were handed over before another thread knew them.
// atomic: Confined.bump, Confined.fresh, Confined.total

final class Confined {
    private static final ThreadLocal<Confined> MINE = ThreadLocal.withInitial(Confined::new);
    private int count;
    private final int[] cells = new int[3];

    void bump() {
        int old = count;
        Workers.mix();
        count = old + 1;
        cells[old % 3]++;
    }

    static int fresh() {
        Confined local = new Confined();
        local.bump();
        Workers.mix();
        local.bump();
        return local.count;
    }

    int total() {
        return count + cells[0] + cells[1] + cells[2];
    }

    public static void main(String[] args) throws InterruptedException {
        Confined[] used = new Confined[3];
        int[] sums = new int[3];
        Workers.all(3, me -> {
            for (int i = 0; i < 100; i++) {
                MINE.get().bump();
                sums[me] += fresh();
            }
            used[me] = MINE.get();
        });
        for (int i = 0; i < 3; i++) {
            System.out.println(used[i].total() + " " + sums[i]);
        }
    }
}
