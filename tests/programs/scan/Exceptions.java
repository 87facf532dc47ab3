// Locks and exceptions.
package exceptions;

class Point {
    synchronized void set(int x) {}

    synchronized void fail() {
        throw new IllegalStateException();
    }
}

class Exceptions {
    int count;

    void inFinally(Object a, Object b) {
        synchronized (a) {
            try {
                synchronized (b) {
                    count++;
                }
                if (count > 3) return;
            } finally {
                synchronized (b) { // WARN locked-twice medium
                    count--;
                }
            }
        }
    }

    synchronized void inHandler(Point p) {
        try {
            p.fail();
        } catch (IllegalStateException e) {
            p.set(1); // WARN locked-twice medium
        }
    }

    synchronized void returnsBefore(Point p) {
        if (count > 0) {
            p.set(1);
            return;
        }
        p.set(2);
    }

    synchronized void throwsBefore(Point p) {
        if (count > 0) {
            p.set(1);
            throw new IllegalStateException();
        }
        p.set(2);
    }

    void releasedByException(Object a, Point p) {
        try {
            synchronized (a) {
                p.set(1);
                throw new IllegalStateException();
            }
        } catch (IllegalStateException e) {
            p.set(2);
        }
    }
}
