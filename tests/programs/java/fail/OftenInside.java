// The block inside runs so often that it is recorded now and then only; what happens in it still counts for the one
// around it.
// atomic: OftenInside.around, OftenInside.add
// expect: violation
// on: OftenInside.value

final class OftenInside {
    private int value;

    void around(Runnable middle) {
        for (int i = 0; i < 5000; i++) {
            add(i == 4000 ? middle : Between::nothing);
        }
    }

    private void add(Runnable middle) {
        int old = value;
        middle.run();
        value = old + 1;
    }

    public static void main(String[] args) throws InterruptedException {
        OftenInside it = new OftenInside();
        Between.force(it::around, me -> it.add(Between::nothing));
        System.out.println(it.value);
    }
}
