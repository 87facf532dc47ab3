// Methods that are left by exceptions, thrown by the program, by a callee and by the VM (null,
// index, division, cast): locks are released and atomic blocks end.
// atomic: ExceptionalExits.*Throw, ExceptionalExits.wrap

final class ExceptionalExits {
    private int value;
    private int[] cells = new int[1];

    synchronized void explicitThrow() {
        value++;
        Workers.mix();
        throw new IllegalStateException("explicit " + value / Integer.MAX_VALUE);
    }

    void nullThrow(ExceptionalExits other) {
        synchronized (this) {
            value++;
            Workers.mix();
            other.value++;
        }
    }

    synchronized void indexThrow(int index) {
        value++;
        cells[index]++;
    }

    synchronized int divideThrow(int by) {
        value++;
        return value / by;
    }

    synchronized String castThrow(Object object) {
        value++;
        return (String) object;
    }

    void monitorThrow(Object lock) {
        synchronized (lock) {
            value++;
        }
    }

    void stateThrow() {
        notifyAll();
    }

    synchronized void wrap() {
        int before = value;
        try {
            explicitThrow();
        } catch (IllegalStateException e) {
            Workers.mix();
            value = before + 1;
        } finally {
            value++;
        }
    }

    private static void expect(Runnable action, Class<?> kind) {
        try {
            action.run();
            System.out.println("nothing was thrown");
        } catch (RuntimeException e) {
            if (e.getClass() != kind) {
                System.out.println("unexpected " + e);
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        ExceptionalExits it = new ExceptionalExits();
        Workers.all(3, me -> {
            for (int i = 0; i < 40; i++) {
                expect(it::explicitThrow, IllegalStateException.class);
                expect(() -> it.nullThrow(null), NullPointerException.class);
                expect(() -> it.indexThrow(5), ArrayIndexOutOfBoundsException.class);
                expect(() -> it.divideThrow(0), ArithmeticException.class);
                expect(() -> it.castThrow(1), ClassCastException.class);
                expect(() -> it.monitorThrow(null), NullPointerException.class);
                expect(it::stateThrow, IllegalMonitorStateException.class);
                it.wrap();
            }
        });
        System.out.println(it.value);
    }
}
