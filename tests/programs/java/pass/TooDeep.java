// Recursion until the stack is full, with locks held and atomic blocks open: the program survives
// it, and so must the record of it.
// atomic: TooDeep.deep, TooDeep.count
// gap: a stack overflowed

final class TooDeep {
    private int value;
    private int survived;

    synchronized int deep(int level) {
        value++;
        return deep(level + 1) + 1;
    }

    synchronized void count() {
        int old = survived;
        Workers.mix();
        survived = old + 1;
    }

    public static void main(String[] args) throws InterruptedException {
        TooDeep it = new TooDeep();
        Workers.all(2, me -> {
            for (int i = 0; i < 3; i++) {
                try {
                    it.deep(0);
                } catch (StackOverflowError e) {
                    it.count();
                }
            }
        });
        System.out.println(it.survived);
    }
}
