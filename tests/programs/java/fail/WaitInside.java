// A method that waits in its middle is not atomic: others run meanwhile, that is what it waits for.
// atomic: WaitInside.swap
// expect: violation WaitInside.swap
// on: WaitInside

final class WaitInside {
    private int requests;
    private int answer;

    synchronized int swap() throws InterruptedException {
        requests++;
        while (answer == 0) {
            wait();
        }
        return answer;
    }

    synchronized boolean serve() {
        if (requests == 0) {
            return false;
        }
        answer = 40 + requests;
        notifyAll();
        return true;
    }

    public static void main(String[] args) throws InterruptedException {
        WaitInside it = new WaitInside();
        int[] seen = new int[1];
        Workers.each(
                me -> seen[0] = it.swap(),
                me -> {
                    while (!it.serve()) {
                        Thread.yield();
                    }
                });
        System.out.println(seen[0]);
    }
}
