// The same with the StringBuffer of the JDK: two calls, each synchronized.
// atomic: BufferCopy.copy
// expect: violation BufferCopy.copy
// on: StringBuffer

final class BufferCopy {
    static String copy(StringBuffer source, Runnable middle) {
        int length = source.length();
        middle.run();
        try {
            return source.substring(0, length);
        } catch (StringIndexOutOfBoundsException e) {
            return "too long";
        }
    }

    public static void main(String[] args) throws InterruptedException {
        StringBuffer buffer = new StringBuffer("text");
        String[] result = new String[1];
        Between.force(middle -> result[0] = copy(buffer, middle), me -> buffer.setLength(1));
        System.out.println(result[0]);
    }
}
