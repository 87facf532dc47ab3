// The wrong dequeue of the cooperability paper: it waits until there is something, then takes what
// may be gone by then. The only documented interference is in the loop.
// property: cooperability
// yield: Buffer.pause
// expect: cooperability

final class Buffer {
    private Object contents;

    synchronized Object nonBlockingDequeue() {
        Object taken = contents;
        contents = null;
        return taken;
    }

    synchronized void put(Object object) {
        contents = object;
    }

    synchronized boolean isEmpty() {
        return contents == null;
    }

    private static void pause() {
        Thread.onSpinWait();
    }

    Object dequeue(Runnable middle) {
        while (isEmpty()) {
            pause();
        }
        middle.run();
        return nonBlockingDequeue();
    }

    public static void main(String[] args) throws InterruptedException {
        Buffer buffer = new Buffer();
        buffer.put("element");
        Object[] taken = new Object[2];
        Between.force(
                middle -> taken[0] = buffer.dequeue(middle),
                me -> taken[1] = buffer.dequeue(Between::nothing));
        System.out.println(taken[0] + " " + taken[1]);
    }
}
