// An order of two threads that only the kernel knows about: a byte through a pipe. It is how the
// buggy programs force their bad interleaving. A latch would do it too, but its own order would
// close a cycle before the program's data does; here the cycle found is the program's own.

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;

final class Turn {
    private final Pipe pipe;

    Turn() {
        try {
            pipe = Pipe.open();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Lets the thread go on that awaits this turn, or the next one that will. */
    void give() {
        try {
            pipe.sink().write(ByteBuffer.allocate(1));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits until another thread has given this turn. */
    void await() {
        try {
            pipe.source().read(ByteBuffer.allocate(1));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
