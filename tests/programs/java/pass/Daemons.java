// The program ends while daemon threads still run, and a hook runs at the end.
// atomic: Daemons.work, Daemons.last

final class Daemons {
    private int plus;
    private int minus;

    synchronized void work() {
        plus++;
        Workers.mix();
        minus--;
    }

    synchronized String last() {
        return plus + minus + " in the hook";
    }

    public static void main(String[] args) throws InterruptedException {
        Daemons it = new Daemons();
        for (int i = 0; i < 3; i++) {
            Thread daemon = new Thread(() -> {
                for (;;) {
                    it.work();
                }
            });
            daemon.setDaemon(true);
            daemon.start();
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println(it.last())));
        Workers.all(2, me -> {
            for (int i = 0; i < 100; i++) {
                it.work();
            }
        });
        System.out.println("end of main");
    }
}
