// A volatile field is read through an updater and written by name, and another thread comes between.
// atomic: UpdaterGetSet.next
// expect: violation UpdaterGetSet.next
// on: UpdaterGetSet.next

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

final class UpdaterGetSet {
    private static final AtomicIntegerFieldUpdater<UpdaterGetSet> NEXT =
            AtomicIntegerFieldUpdater.newUpdater(UpdaterGetSet.class, "next");

    private volatile int next;

    int next(Runnable middle) {
        int mine = NEXT.get(this);
        middle.run();
        next = mine + 1;
        return mine;
    }

    public static void main(String[] args) throws InterruptedException {
        UpdaterGetSet it = new UpdaterGetSet();
        int[] seen = new int[2];
        Between.force(
                middle -> seen[0] = it.next(middle), me -> seen[1] = NEXT.getAndIncrement(it));
        System.out.println(seen[0] + " " + seen[1] + " " + it.next);
    }
}
