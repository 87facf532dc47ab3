// Annotations, and locks that are held for long.
package benign;

@interface NotAtomic {}

@interface BenignLock {}

class Point {
    synchronized void set(int x) {}
}

class Benign implements Runnable {
    @BenignLock Point log;
    Point data;

    @NotAtomic
    synchronized void marked(Point p) {
        p.set(1);
        p.set(2);
    }

    synchronized void benignField() {
        log.set(1);
        log.set(2);
    }

    synchronized void notMarked() {
        data.set(1);
        data.set(2); // WARN locked-twice medium
    }

    public synchronized void run() {
        Point p = new Point();
        while (p != null) {
            step(data);
        }
    }

    private void step(Point p) {
        p.set(1);
    }
}

@NotAtomic
class Marked {
    synchronized void inMarkedClass(Point p) {
        p.set(1);
        p.set(2);
    }
}
