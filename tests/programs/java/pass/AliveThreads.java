// The end of a thread is seen by `isAlive`, where code names a class of the application that extends
// Thread; and another class that only has a method of that name. (The first was a false race.)
// property: race

final class AliveThreads {
    static final class Worker extends Thread {
        private int result;

        @Override
        public void run() {
            result = 1;
        }
    }

    static final class Plant {
        boolean isAlive() {
            return false;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Worker worker = new Worker();
        worker.start();
        while (worker.isAlive()) {
            Thread.sleep(1);
        }
        System.out.println(worker.result + " " + new Plant().isAlive());
    }
}
