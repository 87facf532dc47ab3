// The lost update between two virtual threads.
// needs: 21
// atomic: VirtualLostUpdate.increment
// expect: violation VirtualLostUpdate.increment
// on: VirtualLostUpdate.value

final class VirtualLostUpdate {
    private int value;

    void increment(Runnable middle) {
        int old = value;
        middle.run();
        value = old + 1;
    }

    public static void main(String[] args) throws InterruptedException {
        VirtualLostUpdate it = new VirtualLostUpdate();
        Between between = new Between();
        Thread victim = Thread.ofVirtual().start(() -> it.increment(between));
        Thread other = Thread.ofVirtual().start(() -> {
            try {
                between.act(me -> it.increment(Between::nothing), 1);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        victim.join();
        other.join();
        System.out.println(it.value);
    }
}
