// Another agent beside ours: it looks at classes, replaces one by itself, and has one transformed again.

import java.lang.instrument.ClassDefinition;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

public final class Beside {
    static volatile int seen;

    public static void premain(String arguments, Instrumentation instrumentation) throws Exception {
        instrumentation.addTransformer(new Looking(), true);
        Class<?> target = Class.forName("Declared", true, ClassLoader.getSystemClassLoader());
        instrumentation.retransformClasses(target);
        try (var in = ClassLoader.getSystemResourceAsStream("Declared.class")) {
            instrumentation.redefineClasses(new ClassDefinition(target, in.readAllBytes()));
        }
        instrumentation.retransformClasses(target);
        System.out.println("Declared was seen " + seen + " times");
    }

    /** Gives back what it was given, as if it had changed it. */
    private static final class Looking implements ClassFileTransformer {
        @Override
        public byte[] transform(
                ClassLoader loader, String name, Class<?> old, ProtectionDomain domain, byte[] bytes) {
            if (!"Declared".equals(name)) {
                return null;
            }
            seen++;
            return bytes.clone();
        }
    }
}
