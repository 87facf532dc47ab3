// Locks of JDK classes that are mostly used by one thread: hidden unless they are asked for. The
// JDK is not scanned along in the test of all programs, so that nothing is warned about there.
package library;

import java.util.Vector;

class Names {
    private final Vector<String> names = new Vector<>();

    synchronized void addOnce(String name) {
        if (!names.contains(name)) {
            names.add(name);
        }
    }
}
