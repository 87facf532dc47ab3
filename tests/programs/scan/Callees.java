// What is called: receivers, getters, fresh objects, implementations.
package callees;

class Point {
    synchronized void set(int x) {}

    synchronized Point chained(int x) {
        return this;
    }

    void twice() {
        set(1);
        set(2); // WARN locked-twice medium
    }
}

interface Shape {
    void draw();
}

class Locked implements Shape {
    public synchronized void draw() {}
}

class Free1 implements Shape {
    public void draw() {}
}

class Free2 implements Shape {
    public void draw() {}
}

class Free3 implements Shape {
    public void draw() {}
}

interface Only {
    void act();
}

class OnlyImpl implements Only {
    public synchronized void act() {}
}

class Lazy {
    private Object value;

    Object get() {
        if (value == null) {
            synchronized (this) {
                if (value == null) value = new Object();
            }
        }
        return value;
    }
}

class Owner {
    private final Part part = new Part(this);

    synchronized void viaPart() {
        part.back();
        part.back();
    }

    synchronized void touch() {}
}

class Part {
    private final Owner owner;

    Part(Owner owner) {
        this.owner = owner;
    }

    void back() {
        owner.touch();
    }
}

class Callees {
    private Point point = new Point();
    private final Shape free = new Free1();
    private final Shape locked = new Locked();
    private final Only only;
    private static Point published;

    Callees(Only only, Shape other) {
        this.only = only;
        new Free2().draw();
        new Free3().draw();
        new OnlyImpl().act();
    }

    Point getPoint() {
        return point;
    }

    synchronized void getter() {
        getPoint().set(1);
        getPoint().set(2); // WARN locked-twice medium
    }

    synchronized void chain(Point p) {
        p.chained(1).chained(2); // WARN locked-twice high
    }

    synchronized void inCallee(Point p) {
        p.twice();
    }

    synchronized void manyImplementations(Shape s) {
        s.draw();
        s.draw();
    }

    synchronized void fieldOfFreeClass() {
        free.draw();
        free.draw();
    }

    synchronized void fieldOfLockedClass() {
        locked.draw();
        locked.draw(); // WARN locked-twice medium
    }

    synchronized void onlyImplementation() {
        only.act();
        only.act(); // WARN locked-twice medium
    }

    synchronized Point fresh() {
        Point p = new Point();
        p.set(1);
        p.set(2);
        return p;
    }

    synchronized void freshFromFactory() {
        Point p = make();
        p.set(1);
        p.set(2);
    }

    private Point make() {
        return new Point();
    }

    synchronized void escaped() {
        Point p = new Point();
        published = p;
        p.set(1);
        p.set(2); // WARN locked-twice medium
    }

    synchronized void lazily(Lazy lazy) {
        lazy.get();
        lazy.get();
    }

    class Inner {
        synchronized void outer() {
            point.set(1);
            point.set(2); // WARN locked-twice medium
        }
    }
}
