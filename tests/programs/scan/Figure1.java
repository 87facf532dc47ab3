// Figure 1 of the paper, and its fix.
package figure1;

class Location {
    double x, y;

    synchronized double distanceTo(Location p) {
        return Math.sqrt(Math.pow(p.x - x, 2) + Math.pow(p.y - y, 2));
    }

    synchronized void move(double dx) {
        x += dx;
    }
}

class Line {
    Location start, end;

    synchronized boolean contains(Location point) {
        double r1 = point.distanceTo(start);
        double r2 = point.distanceTo(end); // WARN locked-twice medium
        double c = start.distanceTo(end);
        return r1 + r2 <= 1.001 * c;
    }

    synchronized boolean containsFixed(Location point) {
        double r1, r2;
        synchronized (point) {
            r1 = point.distanceTo(start);
            r2 = point.distanceTo(end);
        }
        return r1 + r2 <= 1.001;
    }

    boolean notMeantToBeAtomic(Location point) {
        return point.distanceTo(start) + point.distanceTo(end) < 1;
    }
}
