// The quicksort of the SingleTrack paper with a bug: the halves overlap in one element, so two
// threads use it without any order. No bad interleaving is needed to see that.
// property: determinism
// deterministic: OverlappingSort.sort
// expect: conflict-freedom
// on: int[]

final class OverlappingSort {
    static void sort(int[] a) throws InterruptedException {
        int middle = a.length / 2;
        Workers.each(me -> part(a, 0, middle), me -> part(a, middle, a.length - 1));
    }

    private static void part(int[] a, int from, int to) {
        for (int i = from; i <= to; i++) {
            a[i] = Math.max(a[i], 7);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int[] a = {5, 3, 9, 1, 8, 2};
        sort(a);
        int sum = 0;
        for (int value : a) {
            sum += value;
        }
        System.out.println(sum);
    }
}
