// Executors: what is done before submit is seen by the task, what the task did is seen after get.
// atomic: Pools.work, Pools.read

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

final class Pools {
    static final class Job {
        int steps;
        int result;
    }

    static Job work(Job job) {
        job.steps++;
        Workers.mix();
        job.result += job.steps;
        return job;
    }

    static int read(Job job) {
        return job.result * 10 + job.steps;
    }

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(3);
        int sum = 0;
        List<Future<Job>> futures = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            Job job = new Job();
            job.result = i;
            futures.add(pool.submit(() -> work(job)));
        }
        for (Future<Job> future : futures) {
            sum += read(work(future.get()));
        }
        List<Callable<Job>> tasks = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            Job job = new Job();
            tasks.add(() -> work(job));
        }
        for (Future<Job> future : pool.invokeAll(tasks)) {
            sum += read(future.get());
        }
        System.out.println(sum + " " + relay(pool) + " " + task() + " " + failing(pool));
        Job last = new Job();
        pool.execute(() -> work(last));
        pool.shutdown();
        System.out.println(pool.awaitTermination(100, TimeUnit.SECONDS) + " " + read(last));
        System.out.println(scheduled());
    }

    /** One job through many threads. */
    private static int relay(ExecutorService pool) throws Exception {
        Job job = new Job();
        for (int i = 0; i < 30; i++) {
            pool.submit(() -> {
                work(job);
            }).get();
        }
        return read(job);
    }

    private static int task() throws Exception {
        Job job = new Job();
        FutureTask<Job> task = new FutureTask<>(() -> work(job));
        new Thread(task).start();
        return read(task.get(100, TimeUnit.SECONDS));
    }

    private static String failing(ExecutorService pool) throws InterruptedException {
        Job job = new Job();
        Future<?> future = pool.submit(() -> {
            work(job);
            throw new IllegalStateException("failed");
        });
        try {
            future.get();
            return "no exception";
        } catch (ExecutionException e) {
            return e.getCause().getMessage() + read(job);
        }
    }

    private static int scheduled() throws Exception {
        ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
        Job job = new Job();
        timer.schedule(() -> work(job), 1, TimeUnit.MILLISECONDS).get();
        timer.schedule(() -> work(job), 1, TimeUnit.MILLISECONDS).get();
        timer.shutdown();
        return read(job);
    }
}
