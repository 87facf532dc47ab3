// Futures that are asked for again and again until their result is there, combined with others and waited for
// while they are completed: a thread that gets a result happens after the one that gave it. One box goes to and fro.
// atomic: Polled.touch

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

final class Polled {
    private static final int COUNT = 100;

    /** How often a result was asked for: the box is the giver's then. */
    private static volatile int asked;

    private int touched;

    Polled touch() {
        int old = touched;
        touched = old + 1;
        return this;
    }

    /** Waits until so many results were asked for, and then a moment. */
    private static void await(int count) {
        while (asked < count) {
            Thread.yield();
        }
        for (int i = 0; i < count % 31 * 8; i++) {
            Thread.onSpinWait();
        }
    }

    private static void ask() {
        asked = asked + 1;
    }

    private static Polled poll(CompletableFuture<Polled> future) {
        Polled found = future.getNow(null);
        while (found == null) {
            found = future.getNow(null);
        }
        return found;
    }

    private static Polled poll(FutureTask<Polled> task) throws InterruptedException, ExecutionException {
        while (true) {
            try {
                return task.get(0, TimeUnit.NANOSECONDS);
            } catch (TimeoutException e) {
                Thread.onSpinWait();
            }
        }
    }

    private static Polled poll(ForkJoinTask<Polled> task) {
        while (!task.isCompletedNormally()) {
            Thread.onSpinWait();
        }
        return task.getRawResult();
    }

    private static Polled meet(CompletableFuture<Polled> future) {
        CompletableFuture<String> other = CompletableFuture.completedFuture("other");
        CompletableFuture<Polled> both = other.thenCombine(future, (ignored, it) -> it.touch());
        return both.thenCompose(it -> future.thenApply(Polled::touch)).join();
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] args) throws InterruptedException {
        Polled box = new Polled();
        CompletableFuture<Polled>[] futures = new CompletableFuture[3 * COUNT];
        FutureTask<Polled>[] tasks = new FutureTask[COUNT];
        ForkJoinTask<Polled>[] forked = new ForkJoinTask[COUNT];
        for (int i = 0; i < futures.length; i++) {
            futures[i] = new CompletableFuture<>();
        }
        for (int i = 0; i < tasks.length; i++) {
            tasks[i] = new FutureTask<>(box::touch);
            forked[i] = ForkJoinTask.adapt(() -> box.touch());
        }
        Workers.each(
                me -> {
                    for (int i = 0; i < COUNT; i++) {
                        for (int j = 0; j < 3; j++) {
                            await(5 * i + j + 1);
                            futures[3 * i + j].complete(box.touch());
                        }
                        await(5 * i + 4);
                        tasks[i].run();
                        await(5 * i + 5);
                        forked[i].quietlyInvoke();
                    }
                },
                me -> {
                    for (int i = 0; i < COUNT; i++) {
                        ask();
                        poll(futures[3 * i]).touch();
                        ask();
                        meet(futures[3 * i + 1]).touch();
                        ask();
                        futures[3 * i + 2].join().touch();
                        ask();
                        poll(tasks[i]).touch();
                        ask();
                        poll(forked[i]).touch();
                    }
                });
        System.out.println(box.touched);
    }
}
