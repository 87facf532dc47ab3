// Lets another thread act in the middle of what one thread does, by turns that are not recorded.

final class Between implements Runnable {
    private final Turn there = new Turn();
    private final Turn back = new Turn();

    /** The middle: the other thread acts while this one waits. */
    @Override
    public void run() {
        there.give();
        back.await();
    }

    /** Acts while the first thread is in its middle. */
    void act(Workers.Body action, int me) throws Exception {
        there.await();
        action.run(me);
        back.give();
    }

    /** Nothing happens in the middle. */
    static void nothing() {}

    /** Two threads: the second acts in the middle of the first. */
    static void force(Victim victim, Workers.Body action) throws InterruptedException {
        Between between = new Between();
        Workers.each(me -> victim.run(between), me -> between.act(action, me));
    }

    interface Victim {
        void run(Runnable middle) throws Exception;
    }
}
