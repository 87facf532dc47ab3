// options: pairs
// The variant of section 2.3: two different locks in turn.
package pairs;

class Point {
    synchronized void set(int x) {}
}

class Pairs {
    synchronized void inTurn(Point a, Point b) {
        a.set(1);
        b.set(2); // WARN locked-in-turn medium
    }

    synchronized void same(Point a) {
        a.set(1);
        a.set(2); // WARN locked-twice medium
    }

    void withoutContext(Point a, Point b) {
        a.set(1);
        b.set(2);
    }

    synchronized void own(Point a) {
        a.set(1);
        step();
    }

    synchronized void step() {}
}
