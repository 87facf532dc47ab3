// The call graph of figure 4: m1 holds A and calls m2; m2 calls m3 and m4, which hold A and call
// m5, which takes B. B is taken twice under A; A itself only again by its holder.
package figure4;

class Graph {
    final Object a = new Object();
    final Object b = new Object();

    void m1() {
        synchronized (a) {
            m2();
        }
    }

    void m2() {
        m3();
        m4(); // WARN locked-twice medium
    }

    void m3() {
        synchronized (a) {
            m5();
        }
    }

    void m4() {
        synchronized (a) {
            m5();
        }
    }

    void m5() {
        synchronized (b) {
            System.nanoTime();
        }
    }
}

class WithoutM1 {
    final Object a = new Object();
    final Object b = new Object();

    void m2() {
        m3();
        m3();
    }

    void m3() {
        synchronized (a) {
            synchronized (b) {
                System.nanoTime();
            }
        }
    }
}
