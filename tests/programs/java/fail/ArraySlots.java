// A free slot of an array is looked for and then taken, and both threads take the same.
// atomic: ArraySlots.take
// expect: violation ArraySlots.take
// on: int[]

final class ArraySlots {
    private final int[] owners = new int[4];

    int take(int owner, Runnable middle) {
        for (int i = 0; i < owners.length; i++) {
            if (owners[i] == 0) {
                middle.run();
                owners[i] = owner;
                return i;
            }
        }
        return -1;
    }

    public static void main(String[] args) throws InterruptedException {
        ArraySlots it = new ArraySlots();
        int[] slots = new int[2];
        Between.force(
                middle -> slots[0] = it.take(1, middle), me -> slots[1] = it.take(2, Between::nothing));
        System.out.println(slots[0] + " " + slots[1]);
    }
}
