// Neighbours that must not be taken for one: elements of an array, fields of an object, the same
// field of two objects, static fields, a field and the one it hides, and rows of a matrix. Each
// belongs to one thread, which reads and writes it in two steps without a lock.
// atomic: Places.*At, Places.hidden

class Places {
    private static final int ROUNDS = 100;
    private static int staticZero;
    private static int staticOne;
    private final byte[] bytes = new byte[2];
    private final Object[] references = {"a", "b"};
    private final double[][] matrix = new double[2][2];
    private long zero;
    private long one;
    protected int same;

    static final class Hides extends Places {
        protected int same;

        void hidden(int me) {
            if (me == 0) {
                int old = same;
                Workers.mix();
                same = old + 1;
            } else {
                int old = super.same;
                Workers.mix();
                super.same = old + 1;
            }
        }
    }

    void elementAt(int me) {
        byte old = bytes[me];
        Workers.mix();
        bytes[me] = (byte) (old + 1);
        Object reference = references[me];
        Workers.mix();
        references[me] = reference;
        matrix[me][1 - me] += 0.5;
        Workers.mix();
        matrix[me][1 - me] += 0.5;
    }

    void fieldAt(int me) {
        if (me == 0) {
            long old = zero;
            Workers.mix();
            zero = old + 1;
        } else {
            long old = one;
            Workers.mix();
            one = old + 1;
        }
    }

    static void objectAt(Places[] places, int me) {
        int old = places[me].same;
        Workers.mix();
        places[me].same = old + 1;
    }

    static void staticAt(int me) {
        if (me == 0) {
            int old = staticZero;
            Workers.mix();
            staticZero = old + 1;
        } else {
            int old = staticOne;
            Workers.mix();
            staticOne = old + 1;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Places shared = new Places();
        Places[] places = {new Places(), new Places()};
        Hides hides = new Hides();
        Workers.all(2, me -> {
            for (int i = 0; i < ROUNDS; i++) {
                shared.elementAt(me);
                shared.fieldAt(me);
                objectAt(places, me);
                staticAt(me);
                hides.hidden(me);
            }
        });
        System.out.println(shared.bytes[0] + shared.bytes[1] + " " + shared.matrix[0][1]
                + shared.matrix[1][0] + shared.references[0] + shared.references[1]);
        System.out.println(shared.zero + shared.one + " " + places[0].same + places[1].same);
        System.out.println(staticZero + staticOne + " " + hides.same + ((Places) hides).same);
    }
}
