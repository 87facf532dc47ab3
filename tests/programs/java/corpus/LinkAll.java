// Loads and links every class of some jars, without running it, and prints what came of each: a
// digest of all, and the errors one by one. Verification happens when a class is linked.
// usage: LinkAll JAR...

import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.JarFile;
import java.util.zip.CRC32;

final class LinkAll {
    /** Looks into its own jar first, so that every version of a class is linked. */
    private static final class OwnFirst extends URLClassLoader {
        OwnFirst(URL own, ClassLoader others) {
            super(new URL[] {own}, others);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                if (loaded != null) {
                    return loaded;
                }
                try {
                    return findClass(name);
                } catch (ClassNotFoundException | SecurityException e) {
                    return super.loadClass(name, resolve);
                }
            }
        }
    }

    private final Map<String, Integer> results = new TreeMap<>();
    private final CRC32 digest = new CRC32();
    private int linked;

    private void link(ClassLoader loader, String name) {
        String result;
        try {
            Class<?> type = loader.loadClass(name);
            // Asking for the methods links the class, and so verifies it, but does not initialise it.
            result = type.getDeclaredMethods().length + " " + type.getDeclaredFields().length;
            linked++;
        } catch (VerifyError | ClassFormatError e) {
            result = e.getClass().getSimpleName();
            System.out.println(name + ": " + String.valueOf(e.getMessage()).split("\n")[0]);
        } catch (ClassNotFoundException | LinkageError | RuntimeException e) {
            result = e.getClass().getSimpleName();
            results.merge(result, 1, Integer::sum);
        }
        digest.update((name + " " + result).getBytes());
    }

    public static void main(String[] args) throws IOException {
        LinkAll all = new LinkAll();
        List<URL> urls = new ArrayList<>();
        for (String jar : args) {
            urls.add(new File(jar).toURI().toURL());
        }
        for (String jar : args) {
            try (URLClassLoader others =
                            new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
                    OwnFirst loader = new OwnFirst(new File(jar).toURI().toURL(), others);
                    JarFile file = new JarFile(jar)) {
                file.stream()
                        .map(entry -> entry.getName())
                        .filter(name -> name.endsWith(".class") && !name.startsWith("META-INF"))
                        .filter(name -> !name.endsWith("-info.class"))
                        .map(name -> name.substring(0, name.length() - 6).replace('/', '.'))
                        .forEach(name -> all.link(loader, name));
            }
        }
        System.out.println(all.linked + " linked, digest " + Long.toHexString(all.digest.getValue()) + " "
                + all.results);
    }
}
