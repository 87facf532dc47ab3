// The quicksort of the SingleTrack paper: it forks a thread for each half, so it is not atomic, but
// it is deterministic.
// property: determinism
// deterministic: Quicksort.quicksort

final class Quicksort {
    static void quicksort(int[] a) throws InterruptedException {
        helper(a, 0, a.length - 1);
    }

    private static void helper(int[] a, int lo, int hi) throws InterruptedException {
        if (lo >= hi) {
            return;
        }
        int pivot = partition(a, lo, hi);
        if (hi - lo < 24) {
            helper(a, lo, pivot - 1);
            helper(a, pivot + 1, hi);
            return;
        }
        Workers.each(me -> helper(a, lo, pivot - 1), me -> helper(a, pivot + 1, hi));
    }

    private static int partition(int[] a, int lo, int hi) {
        int pivot = a[hi];
        int next = lo;
        for (int i = lo; i < hi; i++) {
            if (a[i] < pivot) {
                swap(a, i, next++);
            }
        }
        swap(a, next, hi);
        return next;
    }

    private static void swap(int[] a, int i, int j) {
        int old = a[i];
        a[i] = a[j];
        a[j] = old;
    }

    public static void main(String[] args) throws InterruptedException {
        int[] a = new int[200];
        for (int i = 0; i < a.length; i++) {
            a[i] = i * 7919 % 200;
        }
        quicksort(a);
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < a.length; i += 20) {
            text.append(a[i]).append(' ');
        }
        System.out.println(text);
    }
}
