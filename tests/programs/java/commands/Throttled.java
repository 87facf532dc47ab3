// Two threads that fill a large array, each every other element, in one block each: more than a thread records in a
// window of time.
final class Throttled {
    private static final int[] NUMBERS = new int[200_000];

    private static void fill(int from) {
        for (int i = from; i < NUMBERS.length; i += 2) {
            NUMBERS[i] = i;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread even = new Thread(() -> fill(0));
        Thread odd = new Thread(() -> fill(1));
        even.start();
        odd.start();
        even.join();
        odd.join();
        System.out.println(NUMBERS[199_999]);
    }
}
