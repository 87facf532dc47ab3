import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.function.IntSupplier;

/** Code of all shapes that a patcher must keep alive; what it prints must not change. */
public class Shapes {
    static int counter;
    static final int[] TABLE = {3, 1, 2};
    long wide = 7;
    double real = 0.5;
    String text = "a";

    enum Colour { RED, GREEN { @Override int weight() { return 5; } }; int weight() { return 1; } }

    record Point(int x, int y) { Point { if (x < 0) throw new IllegalArgumentException("x " + x); } }

    interface Greets { int times = counter + 1; default String greet() { counter++; return "hi" + counter; } }

    static class Base implements Cloneable, Serializable {
        int kept;
        Base(int kept) { this.kept = kept; }
        @Override public Base clone() { try { return (Base) super.clone(); } catch (CloneNotSupportedException e) { throw new AssertionError(e); } }
    }

    static class Derived extends Base {
        final Shapes outer;
        volatile int seen;
        Derived(Shapes outer, boolean flag) {
            super(flag ? new int[] {1, 2, 3}[counter & 1] : outer == null ? -1 : outer.text.length());
            this.outer = outer;
            seen = kept;
        }
    }

    static class Map2 extends HashMap<String, Integer> { int puts; @Override public Integer put(String k, Integer v) { puts++; return super.put(k, v); } }

    class Inner { int mine = (int) (wide += 2); int twice() { return mine * 2 + Shapes.this.text.length(); } }

    static int select(int n) {
        switch (n) {
            case 0: return 10;
            case 1: counter++; break;
            case 2: return TABLE[n];
            case 1000: return 4;
            default: return -n;
        }
        return counter;
    }

    static String choose(String s) {
        switch (s) { case "a": return "A"; case "b": return "B"; default: return "?" + s; }
    }

    int guarded(int n) {
        try {
            synchronized (this) { if (n > 2) throw new IllegalStateException("n" + n); wide += n; }
            return (int) wide;
        } catch (IllegalStateException e) {
            text += e.getMessage();
            return -1;
        } finally {
            real *= 2;
        }
    }

    synchronized long recursive(int n) { return n == 0 ? wide : recursive(n - 1) + n; }

    static synchronized int loop(int n) { do { counter += n & 3; } while (--n > 0); return counter; }

    static int deep(int n) { return deep(n + 1) + 1; }

    public static void main(String[] args) throws Exception {
        Shapes shapes = new Shapes();
        List<Object> out = new ArrayList<>();
        for (int i = 0; i < 4; i++) { out.add(select(i)); out.add(shapes.guarded(i)); }
        out.add(select(1000));
        out.add(choose("a") + choose("c"));
        out.add(Colour.GREEN.weight() + Colour.valueOf("RED").weight());
        out.add(new Point(1, 2));
        try { new Point(-1, 0); } catch (IllegalArgumentException e) { out.add(e.getMessage()); }
        out.add(new Greets() {}.greet() + Greets.times);
        Derived derived = new Derived(shapes, true);
        Base copy = derived.clone();
        copy.kept++;
        out.add(derived.kept + " " + copy.kept + " " + new Derived(null, false).kept + " " + derived.seen);
        Map2 map = new Map2();
        map.put("k", 4);
        Map2 map2 = (Map2) map.clone();
        map2.put("l", 5);
        out.add(map.puts + " " + map2.puts + " " + map2);
        out.add(shapes.new Inner().twice());
        out.add(shapes.recursive(9) + loop(20));
        int captured = counter;
        IntSupplier supplier = () -> captured + shapes.text.length();
        out.add(supplier.getAsInt());
        long[][] grid = new long[3][4];
        grid[1][2] += 5; grid[2][3]--;
        out.add(grid[1][2] + grid[2][3]);
        byte[] bytes = {1, 2}; bytes[1] <<= 3; char[] chars = {'x'}; chars[0]++;
        boolean[] flags = new boolean[2]; flags[1] = !flags[0];
        float[] floats = {1.5f}; floats[0] *= 2; double[] doubles = {2.5}; doubles[0]--; short[] shorts = {7}; shorts[0] += 3;
        out.add(bytes[1] + " " + chars[0] + flags[1] + floats[0] + doubles[0] + shorts[0]);
        try { Object[] strings = new String[1]; strings[0] = 3; } catch (ArrayStoreException e) { out.add(e.getMessage()); }
        try { out.add(TABLE[3]); } catch (ArrayIndexOutOfBoundsException e) { out.add(e.getMessage()); }
        try { Shapes none = null; out.add(none.text); } catch (NullPointerException e) { out.add(e.getMessage()); }
        try { int[] none = null; none[0]++; } catch (NullPointerException e) { out.add(e.getMessage()); }
        try { deep(0); } catch (StackOverflowError e) { out.add("deep"); }
        out.add(ObjectStreamClass.lookup(Base.class).getSerialVersionUID());
        ByteArrayOutputStream stored = new ByteArrayOutputStream();
        new ObjectOutputStream(stored).writeObject(copy.getClass() == Derived.class ? new Base(6) : copy);
        out.add(((Base) new ObjectInputStream(new ByteArrayInputStream(stored.toByteArray())).readObject()).kept);
        out.add(stored.size());
        out.add(Shapes.class.getDeclaredFields().length + " " + Base.class.getFields().length + " " + Thread.class.getDeclaredFields().length);
        try { throw new Exception("trace"); } catch (Exception e) { out.add(e.getStackTrace().length); }
        for (Object o : out) System.out.println(o);
    }
}
