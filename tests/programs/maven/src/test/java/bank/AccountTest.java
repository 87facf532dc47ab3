package bank;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import org.junit.jupiter.api.Test;

final class AccountTest {
    @Test
    void depositsAddUp() throws Exception {
        Account account = new Account(0);
        Thread other = new Thread(() -> account.deposit(1));
        other.start();
        account.deposit(2);
        other.join();
        assertEquals(3, account.balance());
    }

    /** Another thread deposits in the middle of a withdrawal, which does no harm this time. */
    @Test
    void whatIsThereCanBeWithdrawn() throws Exception {
        Account account = new Account(10);
        Pipe there = Pipe.open();
        Pipe back = Pipe.open();
        Thread other = new Thread(() -> {
            await(there);
            account.deposit(5);
            give(back);
        });
        other.start();
        assertTrue(account.withdraw(10, () -> {
            give(there);
            await(back);
        }));
        other.join();
        assertEquals(5, account.balance());
    }

    private static void give(Pipe turn) {
        try {
            turn.sink().write(ByteBuffer.allocate(1));
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static void await(Pipe turn) {
        try {
            turn.source().read(ByteBuffer.allocate(1));
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
