// The bug of StringBuffer.append, known from many papers: the length of the argument is asked for,
// then its characters, and it can have been shortened in between.
// atomic: TextAppend.*
// except: TextAppend.main, TextAppend.lambda*
// expect: violation TextAppend.append
// on: TextAppend

final class TextAppend {
    private char[] characters;
    private int length;

    TextAppend(String text) {
        characters = text.toCharArray();
        length = characters.length;
    }

    synchronized int length() {
        return length;
    }

    synchronized void copyTo(char[] target, int at, int count) {
        if (count > length) {
            throw new IndexOutOfBoundsException(count + " of " + length);
        }
        System.arraycopy(characters, 0, target, at, count);
    }

    synchronized void setLength(int to) {
        length = to;
    }

    synchronized void append(TextAppend other, Runnable middle) {
        int count = other.length();
        middle.run();
        char[] longer = new char[length + count];
        copyTo(longer, 0, length);
        other.copyTo(longer, length, count);
        characters = longer;
        length = longer.length;
    }

    public static void main(String[] args) throws InterruptedException {
        TextAppend target = new TextAppend("abc");
        TextAppend source = new TextAppend("defgh");
        Between.force(
                middle -> {
                    try {
                        target.append(source, middle);
                        System.out.println("appended");
                    } catch (IndexOutOfBoundsException e) {
                        System.out.println(e.getMessage());
                    }
                },
                me -> source.setLength(0));
    }
}
