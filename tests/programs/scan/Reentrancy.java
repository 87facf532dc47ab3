// A lock that is held is not taken again.
package reentrancy;

class Reentrancy {
    int count;
    final Object lock = new Object();

    synchronized void self() {
        step();
        step();
    }

    synchronized void step() {
        count++;
    }

    void heldOutside(Object other) {
        synchronized (lock) {
            synchronized (other) {
                locked();
                locked();
            }
        }
    }

    void locked() {
        synchronized (lock) {
            count++;
        }
    }

    void notHeld(Object other) {
        synchronized (other) {
            locked();
            locked(); // WARN locked-twice medium
        }
    }
}
