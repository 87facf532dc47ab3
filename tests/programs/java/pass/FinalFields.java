// Immutable objects published by a race: the reference is read once, and final fields cannot
// change. The race is there, and it is benign.
// atomic: FinalFields.replace, FinalFields.check
// property: atomicity

final class FinalFields {
    static final class Config {
        final int left;
        final int right;
        final int[] both;

        Config(int left) {
            this.left = left;
            this.right = -left;
            this.both = new int[] {left, -left};
        }
    }

    private Config config = new Config(0);

    void replace(int value) {
        Config made = new Config(value);
        Workers.mix();
        config = made;
    }

    boolean check() {
        Config seen = config;
        int sum = seen.left;
        Workers.mix();
        return sum + seen.right == 0 && seen.both[0] + seen.both[1] == 0;
    }

    public static void main(String[] args) throws InterruptedException {
        FinalFields it = new FinalFields();
        boolean[] wrong = new boolean[4];
        Workers.all(4, me -> {
            for (int i = 0; i < 200; i++) {
                if (me < 2) {
                    it.replace(i);
                } else {
                    wrong[me] |= !it.check();
                }
            }
        });
        System.out.println(wrong[2] | wrong[3]);
    }
}
