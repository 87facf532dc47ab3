// Locks on class objects and static fields.
package statics;

class Registry {
    static int count;
    static final Object lock = new Object();

    static synchronized void add() {
        count++;
    }

    static void addLocked() {
        synchronized (lock) {
            count++;
        }
    }

    static synchronized void both() {
        add();
        add();
    }
}

class User {
    synchronized void useClass() {
        Registry.add();
        Registry.add(); // WARN locked-twice medium
    }

    synchronized void useField() {
        Registry.addLocked();
        Registry.addLocked(); // WARN locked-twice medium
    }

    static synchronized void fromStatic(User user) {
        user.touch();
        user.touch(); // WARN locked-twice medium
    }

    synchronized void touch() {}

    synchronized void fixed() {
        synchronized (Registry.class) {
            Registry.add();
            Registry.add();
        }
    }

    synchronized void different() {
        Registry.add();
        Registry.addLocked();
    }
}
