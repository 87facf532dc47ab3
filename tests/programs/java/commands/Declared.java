// Two methods that another thread gets into the middle of, one of them declared atomic; the
// arguments say what happens then.

import java.io.IOException;

final class Declared {
    /** An annotation of the application; the compiler keeps it in the class file. */
    @interface Atomic {}

    private int value;

    synchronized int get() {
        return value;
    }

    synchronized void set(int value) {
        this.value = value;
    }

    @Atomic
    void marked(Runnable middle) {
        int before = get();
        middle.run();
        set(before + 1);
    }

    void plain(Runnable middle) {
        int before = get();
        middle.run();
        set(before + 2);
    }

    public static void main(String[] args) throws Exception {
        Declared it = new Declared();
        Between.force(it::marked, me -> it.set(5));
        Between.force(it::plain, me -> it.set(7));
        System.out.println(it.get());
        if (args.length > 0) {
            then(args[0]);
        }
    }

    private static void then(String what) throws IOException, InterruptedException {
        switch (what) {
            case "exits" -> exitWhileOthersRun();
            case "throws" -> throw new IllegalStateException("on purpose");
            case "is killed" -> kill("-KILL");
            case "waits" -> sleep();
            case "reads" -> System.out.println(new String(System.in.readAllBytes()));
            default -> throw new IllegalArgumentException(what);
        }
    }

    private static void exitWhileOthersRun() {
        Declared busy = new Declared();
        Thread other = new Thread(() -> {
            while (true) {
                busy.set(busy.get() + 1);
            }
        });
        other.start();
        while (busy.get() < 100) {
            Thread.onSpinWait();
        }
        System.exit(5);
    }

    /** By a process that is no child of ours when it acts. */
    private static void kill(String signal) throws IOException, InterruptedException {
        // What was recorded is on its way within a fraction of a second.
        Thread.sleep(1000);
        String me = Long.toString(ProcessHandle.current().pid());
        new ProcessBuilder("kill", signal, me).start().waitFor();
        sleep();
    }

    private static void sleep() throws InterruptedException {
        System.out.println("ready");
        Thread.sleep(100_000);
    }
}
