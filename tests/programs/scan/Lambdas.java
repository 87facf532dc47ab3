// options: low
package lambdas;

import java.util.function.IntConsumer;

class Point {
    synchronized void set(int x) {}
}

class Lambdas {
    synchronized void calledHere(Point p) {
        Runnable run = () -> p.set(1);
        run.run();
        run.run(); // WARN locked-twice medium
    }

    synchronized void reference(Point p) {
        IntConsumer set = p::set;
        set.accept(1);
        set.accept(2); // WARN locked-twice medium
    }

    synchronized void onlyMade(Point p) {
        Runnable one = () -> p.set(1);
        Runnable two = () -> p.set(2);
        use(one, two);
    }

    void use(Object one, Object two) {}

    private synchronized void each(IntConsumer action) {
        for (int i = 0; i < 9; i++) {
            action.accept(i); // WARN locked-twice low
        }
    }

    void passedOn(Point p) {
        each(i -> p.set(i));
    }

    void passedOnHeld(Point p) {
        synchronized (p) {
            passedThrough(i -> {});
        }
    }

    void passedThrough(IntConsumer action) {
        each(action);
    }

    synchronized void once(Point p) {
        call(i -> p.set(i));
    }

    private void call(IntConsumer action) {
        action.accept(1);
    }
}
