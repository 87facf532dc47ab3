// The holder idiom: the VM runs the initialiser once, and everybody sees what it did, without a
// lock in the program. The singleton's fields are neither final nor volatile.
// atomic: Holder.get, Holder.total

final class Holder {
    private int left;
    private int right;
    private int[] table;

    private Holder() {
        left = 3;
        Workers.mix();
        right = 4;
        table = new int[] {left, right};
    }

    private static final class Lazy {
        static final Holder INSTANCE = new Holder();
        static int uses = Integer.parseInt("1");
    }

    enum Kind {
        ONE(1),
        TWO(2);

        int weight;

        Kind(int weight) {
            this.weight = weight;
        }
    }

    static Holder get() {
        return Lazy.INSTANCE;
    }

    static int total() {
        Holder it = get();
        int sum = it.left + it.table[1] + Lazy.uses;
        Workers.mix();
        return sum + it.right + it.table[0] + Kind.TWO.weight;
    }

    public static void main(String[] args) throws InterruptedException {
        int[] sums = new int[4];
        Workers.all(4, me -> {
            for (int i = 0; i < 50; i++) {
                sums[me] += total();
            }
        });
        System.out.println(sums[0] + sums[1] + sums[2] + sums[3]);
    }
}
