// Stages of completable futures hand a box on, each in some thread of a pool.
// atomic: Completable.touch

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

final class Completable {
    private int touched;
    private int sum;

    Completable touch(int by) {
        touched++;
        Workers.mix();
        sum += by * touched;
        return this;
    }

    private static CompletableFuture<Completable> chain(int start, ExecutorService pool) {
        return CompletableFuture.supplyAsync(() -> new Completable().touch(start), pool)
                .thenApplyAsync(it -> it.touch(2), pool)
                .thenApply(it -> it.touch(3))
                .thenComposeAsync(it -> CompletableFuture.supplyAsync(() -> it.touch(4), pool), pool)
                .whenComplete((it, failure) -> it.touch(5));
    }

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(3);
        int total = 0;
        for (int i = 0; i < 40; i++) {
            CompletableFuture<Completable> one = chain(i, pool);
            CompletableFuture<Completable> two = chain(i + 1, pool);
            total += one.thenCombine(two, (a, b) -> a.sum + b.sum).join();
            CompletableFuture.allOf(one, two).get();
            total += one.get().touch(6).sum + two.join().touch(7).sum;
        }
        CompletableFuture<Completable> promise = new CompletableFuture<>();
        Thread giver = new Thread(() -> promise.complete(new Completable().touch(8)));
        giver.start();
        total += promise.get().touch(9).sum;
        giver.join();
        pool.shutdown();
        System.out.println(total);
    }
}
