// A publisher and its subscriber, results in the order of their completion, the views of a stamped lock, and
// pools that are waited for as a whole.
// atomic: Publishers.put, Publishers.look

import java.util.concurrent.CompletionService;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.SubmissionPublisher;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.StampedLock;

final class Publishers {
    static final class Box {
        int value;
    }

    static final class Sum implements Flow.Subscriber<Box> {
        private final CountDownLatch done = new CountDownLatch(1);
        private Flow.Subscription subscription;
        private int sum;

        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            this.subscription = subscription;
            subscription.request(1);
        }

        @Override
        public void onNext(Box box) {
            sum += box.value;
            subscription.request(1);
        }

        @Override
        public void onError(Throwable thrown) {
            sum = -1;
            done.countDown();
        }

        @Override
        public void onComplete() {
            sum += 1000;
            done.countDown();
        }
    }

    private final StampedLock stamped = new StampedLock();
    private final ReadWriteLock both = stamped.asReadWriteLock();
    private final Lock reading = stamped.asReadLock();
    private int first;
    private int second;

    void put(int value) {
        both.writeLock().lock();
        try {
            first = value;
            second = -value;
        } finally {
            both.writeLock().unlock();
        }
    }

    int look() {
        reading.lock();
        try {
            return first + second;
        } finally {
            reading.unlock();
        }
    }

    private static int published() throws InterruptedException {
        Sum sum = new Sum();
        try (SubmissionPublisher<Box> publisher = new SubmissionPublisher<>()) {
            publisher.subscribe(sum);
            for (int i = 0; i < 50; i++) {
                Box box = new Box();
                box.value = i;
                publisher.submit(box);
            }
        }
        sum.done.await();
        return sum.sum;
    }

    private static int completed() throws InterruptedException {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        CompletionService<Void> service = new ExecutorCompletionService<>(pool);
        Box[] boxes = new Box[10];
        for (int i = 0; i < boxes.length; i++) {
            Box box = new Box();
            boxes[i] = box;
            int number = i;
            service.submit(() -> {
                box.value = number;
                return null;
            });
        }
        int done = 0;
        for (Box box : boxes) {
            done += service.take() == null ? 0 : 1;
        }
        int sum = 0;
        for (Box box : boxes) {
            sum += box.value;
        }
        pool.shutdown();
        return done * sum;
    }

    private static int quiet(boolean end) throws InterruptedException {
        ForkJoinPool pool = new ForkJoinPool(2);
        Box[] boxes = new Box[10];
        for (int i = 0; i < boxes.length; i++) {
            Box box = new Box();
            boxes[i] = box;
            int number = i;
            pool.execute(() -> box.value = number);
        }
        if (end) {
            pool.shutdown();
            pool.awaitTermination(1, TimeUnit.MINUTES);
        } else {
            pool.awaitQuiescence(1, TimeUnit.MINUTES);
        }
        int sum = 0;
        for (Box box : boxes) {
            sum += box.value;
        }
        pool.shutdown();
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        System.out.println(published() + " " + completed() + " " + quiet(true) + " " + quiet(false));
        Publishers it = new Publishers();
        int[] sums = new int[2];
        Workers.all(2, me -> {
            for (int i = 0; i < 100; i++) {
                it.put(i);
                sums[me] += it.look();
            }
        });
        System.out.println(sums[0] + sums[1]);
    }
}
