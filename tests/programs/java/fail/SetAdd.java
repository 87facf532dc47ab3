// The example of the Velodrome paper: Vector is synchronized, but another thread can add the same
// element between contains and add.
// atomic: SetAdd.add
// expect: violation SetAdd.add
// on: Vector

import java.util.Vector;

final class SetAdd {
    private final Vector<Integer> elements = new Vector<>();

    void add(Integer element, Runnable middle) {
        if (!elements.contains(element)) {
            middle.run();
            elements.add(element);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        SetAdd set = new SetAdd();
        Between.force(middle -> set.add(7, middle), me -> set.add(7, Between::nothing));
        System.out.println(set.elements);
    }
}
