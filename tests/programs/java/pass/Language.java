// What the compiler makes of the language: lambdas, inner and anonymous classes, interfaces with
// bodies, generics with bridges, switches, strings, try with resources, nested finally, records.
// atomic: Language.*, Language$*.add*
// except: Language.main, Language.lambda$main$*

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;

final class Language {
    record Point(int x, int y) {
        Point {
            if (x < 0) {
                throw new IllegalArgumentException("negative");
            }
        }

        int sum() {
            return x + y;
        }
    }

    enum Operation {
        ADD {
            @Override
            int apply(int a, int b) {
                return a + b;
            }
        },
        MULTIPLY {
            @Override
            int apply(int a, int b) {
                return a * b;
            }
        };

        abstract int apply(int a, int b);
    }

    interface Shape {
        int size();

        default int twice() {
            return 2 * size() + helper();
        }

        private int helper() {
            return 1;
        }

        static Shape of(int size) {
            return () -> size;
        }
    }

    abstract static class Cell<T extends Comparable<T>> {
        protected T content;

        abstract void add(T value);
    }

    static final class Max extends Cell<Integer> {
        @Override
        synchronized void add(Integer value) {
            if (content == null || content.compareTo(value) < 0) {
                content = value;
            }
        }
    }

    static final class Resource implements AutoCloseable {
        private final List<String> log;

        Resource(List<String> log) {
            this.log = log;
            log.add("open");
        }

        @Override
        public void close() {
            log.add("close");
        }
    }

    final class Inner {
        synchronized void add(int by) {
            synchronized (Language.this) {
                total += by;
            }
        }
    }

    private long total;

    static String describe(Object object) {
        String kind = switch (object.getClass().getSimpleName()) {
            case "Integer", "Long" -> "number";
            case "String" -> {
                String text = (String) object;
                yield text.isEmpty() ? "nothing" : "text of " + text.length();
            }
            default -> "other";
        };
        if (object instanceof Integer number && number > 3) {
            kind += " above three";
        }
        return kind;
    }

    static int finallyTwice(int[] cells) {
        int i = 0;
        try {
            try {
                i = cells[1];
                return i;
            } finally {
                cells[0]++;
            }
        } catch (ArrayIndexOutOfBoundsException e) {
            i = -1;
        } finally {
            cells[0]++;
            i--;
        }
        return i;
    }

    static long arithmetic(int n) {
        long result = 0;
        outer:
        for (int i = 0; i < n; i++) {
            for (int j = 0; ; j++) {
                if (j > i) {
                    continue outer;
                }
                if (i * j > 40) {
                    break outer;
                }
                result += (i << 2) ^ (j >>> 1);
                result = (long) (result * 1.5f + (double) j / 3) % 1_000_003;
            }
        }
        return result;
    }

    static int lookup(int key) {
        switch (key) {
            case 1:
            case 2:
                return 12;
            case 1000:
                return 1;
            case -5:
                return 5;
            default:
                return 0;
        }
    }

    static String all(int seed) {
        List<String> log = new ArrayList<>();
        try (Resource one = new Resource(log); Resource two = new Resource(log)) {
            log.add(Objects.toString(one.log == two.log));
            IntUnaryOperator square = value -> value * value;
            Supplier<Point> maker = () -> new Point(seed, square.applyAsInt(seed));
            log.add(maker.get() + " " + maker.get().sum() + maker.get().equals(maker.get()));
            new Point(-1, 0);
        } catch (IllegalArgumentException e) {
            log.add(e.getMessage());
        }
        Comparator<String> byLength = new Comparator<>() {
            @Override
            public int compare(String a, String b) {
                return Integer.compare(a.length(), b.length());
            }
        };
        log.sort(byLength);
        for (Operation operation : Operation.values()) {
            log.add(operation + "=" + operation.apply(seed, 3));
        }
        log.add(Shape.of(seed).twice() + describe(seed) + describe("") + describe("abc") + describe(log));
        log.add(finallyTwice(new int[1]) + " " + finallyTwice(new int[] {0, 7}));
        log.add(arithmetic(20 + seed) + " " + lookup(seed) + lookup(1000) + lookup(-5));
        return String.join(";", log);
    }

    public static void main(String[] args) throws InterruptedException {
        Language it = new Language();
        Inner inner = it.new Inner();
        Max max = new Max();
        String[] results = new String[3];
        Workers.all(3, me -> {
            for (int i = 0; i < 50; i++) {
                inner.add(i);
                max.add(i * (me + 1));
                results[me] = all(me);
            }
        });
        System.out.println(it.total + " " + max.content);
        for (String result : results) {
            System.out.println(result);
        }
    }
}
