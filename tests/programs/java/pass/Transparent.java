// What a program can see of itself: declared members, serialization with a default version, stack
// traces, class file resources, hash codes of records, assertion state, and its own exit by an
// uncaught exception in another thread, which leaves a trace on the standard error stream.
// atomic: Transparent.touch

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.TreeSet;
import java.util.zip.CRC32;

class Transparent implements Serializable, Cloneable {
    @SuppressWarnings("serial")
    static class Versionless implements Serializable {
        int number = 5;
        String text = "text";
        private transient int skipped = 6;

        private static int helper(int value) {
            return value + 1;
        }
    }

    private static final long serialVersionUID = 1;
    protected int count;
    volatile long stamp;
    static final String CONSTANT = "constant";

    synchronized void touch() {
        count++;
        Workers.mix();
        stamp = count;
    }

    private static void members(Class<?> type) {
        TreeSet<String> names = new TreeSet<>();
        for (Field field : type.getDeclaredFields()) {
            names.add(field.toGenericString());
        }
        for (Method method : type.getDeclaredMethods()) {
            if (!method.isSynthetic()) {
                names.add(method.toGenericString());
            }
        }
        System.out.println(Modifier.toString(type.getModifiers()) + " " + names);
        System.out.println(Arrays.toString(type.getInterfaces()) + Arrays.toString(type.getDeclaredConstructors()));
    }

    private static void serialized() throws Exception {
        System.out.println(ObjectStreamClass.lookup(Versionless.class));
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(new Versionless());
            out.writeObject(new Transparent());
        }
        CRC32 sum = new CRC32();
        sum.update(bytes.toByteArray());
        System.out.println(bytes.size() + " " + Long.toHexString(sum.getValue()));
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            Versionless read = (Versionless) in.readObject();
            System.out.println(read.number + read.text + read.skipped + Versionless.helper(1));
        }
    }

    private static void traces() {
        try {
            new Transparent().fails(null);
        } catch (NullPointerException e) {
            for (StackTraceElement element : e.getStackTrace()) {
                System.out.println(element);
            }
            System.out.println(e.getMessage());
        }
        for (boolean wide : new boolean[] {false, true}) {
            try {
                assign(null, wide);
            } catch (NullPointerException e) {
                System.out.println(e.getMessage());
            }
        }
        StackWalker.getInstance().forEach(frame -> System.out.println(frame.getMethodName() + frame.getLineNumber()));
    }

    private static void assign(Transparent other, boolean wide) {
        if (wide) {
            other.stamp = 7;
        } else {
            other.count = 7;
        }
    }

    private synchronized int fails(Transparent other) {
        return other.count;
    }

    public static void main(String[] args) throws Exception {
        members(Transparent.class);
        members(Versionless.class);
        serialized();
        traces();
        Transparent it = new Transparent();
        Transparent copy = (Transparent) it.clone();
        Workers.all(3, me -> {
            for (int i = 0; i < 100; i++) {
                it.touch();
                if (me == 0) {
                    copy.count++;
                }
            }
        });
        System.out.println(it.count + " " + it.stamp + " " + copy.count + " " + CONSTANT);
        System.out.println(Transparent.class.desiredAssertionStatus() + " " + Thread.activeCount());
        Thread thrower = new Thread(() -> it.fails(null), "thrower");
        thrower.start();
        thrower.join();
        System.exit(3);
    }
}
