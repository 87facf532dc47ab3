// One class loaded twice, by two loaders: its static fields are two, and each belongs to one thread.
// atomic: Loaders$Counter.bump

import java.io.IOException;
import java.io.InputStream;

final class Loaders {
    public static final class Counter implements Runnable {
        private static int count;
        private static int[] cells = new int[1];

        static void bump() {
            int old = count;
            Workers.mix();
            count = old + 1;
            cells[0]++;
        }

        @Override
        public void run() {
            for (int i = 0; i < 300; i++) {
                bump();
            }
        }

        @Override
        public String toString() {
            return count + " " + cells[0];
        }
    }

    private static final class Fresh extends ClassLoader {
        private final String name = Counter.class.getName();

        Fresh() {
            super(Loaders.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String wanted, boolean resolve) throws ClassNotFoundException {
            if (!wanted.equals(name) && !wanted.equals("Workers")) {
                return super.loadClass(wanted, resolve);
            }
            synchronized (getClassLoadingLock(wanted)) {
                Class<?> loaded = findLoadedClass(wanted);
                return loaded != null ? loaded : define(wanted);
            }
        }

        private Class<?> define(String wanted) throws ClassNotFoundException {
            try (InputStream in = getResourceAsStream(wanted + ".class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(wanted, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(wanted, e);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Runnable[] counters = new Runnable[2];
        for (int i = 0; i < 2; i++) {
            Class<?> type = new Fresh().loadClass(Counter.class.getName());
            counters[i] = (Runnable) type.getDeclaredConstructor().newInstance();
        }
        System.out.println(counters[0].getClass() == counters[1].getClass());
        Workers.all(2, me -> counters[me].run());
        System.out.println(counters[0] + " " + counters[1]);
    }
}
