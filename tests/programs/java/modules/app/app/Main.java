package app;

import lib.Register;

/** Two threads take the same number from a register in another module. */
public final class Main {
    public static void main(String[] args) throws InterruptedException {
        Register register = new Register();
        int[] taken = new int[2];
        Thread thread = new Thread(() -> taken[1] = register.take(() -> { }));
        taken[0] = register.take(() -> {
            thread.start();
            join(thread);
        });
        System.out.println(taken[0] == taken[1] ? "the same" : "different");
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
