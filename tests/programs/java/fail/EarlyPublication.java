// An object is published before it is finished: a reader sees it, and its default value.
// atomic: EarlyPublication.create, EarlyPublication.read
// expect: violation EarlyPublication.create
// on: EarlyPublication

final class EarlyPublication {
    private static EarlyPublication published;
    private int value;

    static void create(Runnable middle) {
        EarlyPublication made = new EarlyPublication();
        published = made;
        middle.run();
        made.value = 42;
    }

    static int read() {
        EarlyPublication seen = published;
        return seen == null ? -1 : seen.value;
    }

    public static void main(String[] args) throws InterruptedException {
        int[] result = new int[1];
        System.out.println(read());
        Between.force(EarlyPublication::create, me -> result[0] = read());
        System.out.println(result[0]);
    }
}
