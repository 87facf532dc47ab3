// Correct code that looks wrong.
package idioms;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

class Cell {
    private final Object lock = new Object();
    private int value;

    int get() {
        synchronized (lock) {
            return value;
        }
    }

    void set(int v) {
        synchronized (lock) {
            value = v;
        }
    }

    void swap(Cell other) {
        Cell first = this, second = other;
        if (System.identityHashCode(first) > System.identityHashCode(second)) {
            first = other;
            second = this;
        }
        synchronized (first.lock) {
            synchronized (second.lock) {
                int v = get();
                set(other.get());
                other.set(v);
            }
        }
    }
}

class Account {
    final int id;
    private int balance;

    Account(int id) {
        this.id = id;
    }

    synchronized int balance() {
        return balance;
    }

    synchronized void add(int n) {
        balance += n;
    }

    static boolean transfer(Account from, Account to, int n) {
        Account first = from.id < to.id ? from : to;
        Account second = from.id < to.id ? to : from;
        synchronized (first) {
            synchronized (second) {
                if (from.balance() < n) return false;
                from.add(-n);
                to.add(n);
                return true;
            }
        }
    }

    static synchronized boolean transferUnordered(Account from, Account to, int n) {
        if (from.balance() < n) return false;
        from.add(-n); // WARN locked-twice high
        to.add(n);
        return true;
    }
}

class Wrapper {
    private final Object mutex;
    private final List<String> list = new ArrayList<>();

    Wrapper() {
        mutex = this;
    }

    Wrapper(Object mutex) {
        this.mutex = mutex;
    }

    int size() {
        synchronized (mutex) {
            return list.size();
        }
    }

    void add(String s) {
        synchronized (mutex) {
            list.add(s);
        }
    }

    synchronized void addOnce(String s) {
        if (size() == 0) add(s);
    }
}

class Users {
    private final List<String> list = Collections.synchronizedList(new ArrayList<>());

    void addOnce(String s) {
        synchronized (list) {
            if (!list.contains(s)) list.add(s);
        }
    }
}

class Base {
    Object part() {
        return null;
    }

    Object twice() {
        return part() == null ? null : part();
    }
}

class Plain extends Base {
}

class Locking extends Base {
    private Object part = new Object();

    @Override
    synchronized Object part() {
        return part;
    }
}

class Dispatch {
    private final Plain plain = new Plain();
    private final Locking locking = new Locking();

    synchronized Object neverLocks(Plain p) {
        return p.twice();
    }

    synchronized Object fieldOfOneClass() {
        return plain.twice();
    }

    Base either(boolean b) {
        return b ? plain : locking;
    }
}
