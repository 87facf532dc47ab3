// Fields and elements by reflection: of all types, static and inherited ones, of a class that is not initialised
// yet, in an interface; a volatile field that hands over, and the exceptions that are thrown.
// atomic: Reflected.add, Reflected.step, Reflected.elements, Reflected.statics

import java.lang.reflect.Array;
import java.lang.reflect.Field;

final class Reflected extends Reflected0 {
    static class Late {
        static int value;

        static {
            value = 7;
            System.out.println("late");
        }
    }

    interface Tally {
        int[] all();

        default void count(int which) {
            Array.setInt(all(), which, Array.getInt(all(), which) + 1);
        }
    }

    private static final Field SUM = field(Reflected0.class, "sum");
    private static final Field TURN = field(Reflected.class, "turn");
    private static final Field TOTAL = field(Reflected.class, "total");
    private static final Field NAME = field(Reflected.class, "name");

    private static long total;
    private volatile int turn;
    private String name = "none";
    private int x;
    private boolean truth;
    private byte small;
    private char letter = 'a';
    private short medium;
    private float rate;
    private double exact;
    private final int fixed = 4;
    private final String[] names = {"a", "b"};
    private final int[] counts = new int[3];

    static Field field(Class<?> of, String name) {
        try {
            return of.getDeclaredField(name);
        } catch (NoSuchFieldException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    synchronized void add(int by) throws IllegalAccessException {
        int old = SUM.getInt(this);
        Workers.mix();
        SUM.setInt(this, old + by);
    }

    void step(int next) throws IllegalAccessException {
        int old = x;
        Workers.mix();
        x = old + 1;
        NAME.set(this, "by " + next);
        TURN.setInt(this, next);
    }

    synchronized void elements(int which) {
        String old = (String) Array.get(names, which);
        Workers.mix();
        Array.set(names, which, old.length() > 4 ? "" : old + ".");
    }

    static void statics(int by) throws IllegalAccessException {
        synchronized (Reflected.class) {
            TOTAL.setLong(null, TOTAL.getLong("ignored") + by);
        }
    }

    interface Action {
        void run() throws Exception;
    }

    private static void failing(String what, Action it) {
        try {
            it.run();
            System.out.println(what + " passed");
        } catch (Exception e) {
            System.out.println(what + " " + e);
        }
    }

    private static void exceptions(Reflected it) {
        Reflected none = null;
        Field noField = none == null ? null : SUM;
        failing("null object", () -> TURN.getInt(none));
        failing("other class", () -> TURN.setInt("text", 1));
        failing("type", () -> TURN.set(it, "text"));
        failing("narrow", () -> TURN.setLong(it, 1));
        failing("final", () -> field(Reflected.class, "fixed").setInt(it, 5));
        failing("private", () -> field(Reflected0.class, "hidden").getInt(it));
        failing("platform", () -> field(String.class, "hash").getInt("text"));
        failing("index", () -> Array.get(it.names, 2));
        failing("negative", () -> Array.set(it.names, -1, "c"));
        failing("element", () -> Array.set(it.names, 0, 1));
        failing("no array", () -> Array.getInt("text", 0));
        failing("null array", () -> Array.setInt(null, 0, 1));
        try {
            noField.getInt(it);
        } catch (IllegalAccessException | NullPointerException e) {
            System.out.println("null field " + e.getClass());
        }
    }

    private static void types(Reflected it) throws IllegalAccessException {
        field(Reflected.class, "truth").setBoolean(it, true);
        field(Reflected.class, "small").setByte(it, (byte) 3);
        field(Reflected.class, "letter").setChar(it, 'z');
        field(Reflected.class, "medium").setShort(it, (short) 300);
        field(Reflected.class, "rate").setFloat(it, 0.5f);
        field(Reflected.class, "exact").setDouble(it, 0.25);
        System.out.println(field(Reflected.class, "truth").getBoolean(it) + " "
                + field(Reflected.class, "small").getByte(it)
                + field(Reflected.class, "letter").getChar(it)
                + field(Reflected.class, "medium").getShort(it)
                + field(Reflected.class, "small").getDouble(it)
                + field(Reflected.class, "rate").getFloat(it) + field(Reflected.class, "exact").get(it)
                + field(Reflected.class, "fixed").getInt(it) + " " + it.letter + it.medium + it.rate);
        Object grid = Array.newInstance(double.class, 2, 2);
        Array.setDouble(Array.get(grid, 1), 1, 2.5);
        System.out.println(Array.getDouble(Array.get(grid, 1), 1) + " " + Array.getLength(grid));
    }

    public static void main(String[] args) throws Exception {
        Reflected it = new Reflected();
        Tally tally = () -> it.counts;
        types(it);
        exceptions(it);
        Field late = field(Late.class, "value");
        System.out.println("early");
        System.out.println(late.get(null));
        Workers.all(2, me -> {
            for (int i = 0; i < 100; i++) {
                it.add(i);
                while (TURN.getInt(it) != me) {
                    Thread.yield();
                }
                it.step(1 - me);
                it.elements(i % 2);
                statics(i);
                synchronized (tally) {
                    tally.count(i % 3);
                }
            }
        });
        System.out.println(it.sum + " " + it.x + " " + it.name + " " + total + " " + it.counts[0]);
        System.out.println(it.names[0].length() + " " + it.names[1].length());
    }
}

class Reflected0 {
    protected int sum;
    private int hidden;
}
