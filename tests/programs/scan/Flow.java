// options: low
package flow;

class Point {
    synchronized void set(int x) {}
}

class Flow {
    Point start, end;
    Point[] points = new Point[2];
    int count;

    synchronized void ifElse(Point p, boolean b) {
        if (b) p.set(1);
        else p.set(2);
    }

    synchronized void ifThen(Point p, boolean b) {
        if (b) p.set(1);
        p.set(2); // WARN locked-twice medium
    }

    synchronized void loop(Point p) {
        for (int i = 0; i < 2; i++) {
            p.set(i); // WARN locked-twice low
        }
    }

    synchronized void loopOverArray(Point[] point) {
        for (int i = 0; i < 2; i++) {
            point[i].set(i);
        }
    }

    synchronized void twiceInLoopOverArray(Point[] point) {
        for (int i = 0; i < 2; i++) {
            point[i].set(i);
            point[i].set(i); // WARN locked-twice medium
        }
    }

    synchronized void forEach(java.util.List<Point> list) {
        for (Point p : list) p.set(1);
    }

    synchronized void constantIndex() {
        points[0].set(1);
        points[0].set(2); // WARN locked-twice medium
    }

    synchronized void differentIndexes() {
        points[0].set(1);
        points[1].set(2);
    }

    synchronized void elementReplaced(Point[] own, Point q) {
        own[0].set(1);
        own[0] = q;
        own[0].set(2);
    }

    synchronized void reassigned(Point p, Point q) {
        p.set(1);
        p = q;
        p.set(2);
    }

    synchronized void copied(Point p) {
        Point q = p;
        p.set(1);
        q.set(2); // WARN locked-twice medium
    }

    synchronized void field() {
        start.set(1);
        Point s = start;
        s.set(2); // WARN locked-twice medium
    }

    synchronized void fieldAssigned(Point q) {
        end.set(1);
        end = q;
        end.set(2);
    }

    synchronized void linkedList(Node n) {
        while (n != null) {
            n.touch();
            n = n.next;
        }
    }

    synchronized void choice(Point a, Point b, boolean c) {
        Point p = c ? a : b;
        p.set(1);
        p.set(2); // WARN locked-twice medium
    }

    synchronized void switchInLoop(Point p, int n) {
        while (n-- > 0) {
            switch (n) {
                case 1:
                    p.set(1); // WARN locked-twice medium
                    break;
                case 2:
                    p.set(2); // WARN locked-twice medium
                    break;
                default:
            }
        }
    }

    synchronized void cast(Object o) {
        ((Point) o).set(1);
        ((Point) o).set(2); // WARN locked-twice medium
    }

    void blocks(Object a, Object b) {
        synchronized (a) {
            synchronized (b) {
                count++;
            }
            synchronized (b) { // WARN locked-twice medium
                count--;
            }
        }
    }

    void blocksInDifferentScopes(Object a, Object b) {
        synchronized (a) {
            synchronized (b) {
                count++;
            }
        }
        synchronized (a) {
            synchronized (b) {
                count--;
            }
        }
    }

    synchronized void waits(Point p) throws InterruptedException {
        while (count == 0) {
            p.set(1);
            wait();
        }
    }
}

class Node {
    Node next;

    synchronized void touch() {}
}

class Lazily {
    private Object value;
    private final Lazily other = null;

    Object get() {
        return value == null ? compute() : value;
    }

    private synchronized Object compute() {
        if (value == null) {
            value = new Object();
        }
        return value;
    }

    // The second call finds the value that the first one computed, and takes no lock.
    synchronized boolean twice() {
        return other.get() == other.get(); // WARN locked-twice low
    }
}
