// Synchronized collections that use other collections.
package arguments;

import java.util.ArrayList;
import java.util.Collection;

class Bag extends ArrayList<String> {
    @Override
    public synchronized boolean addAll(Collection<? extends String> c) {
        for (String s : c) { // WARN collection-argument medium
            super.add(s);
        }
        return true;
    }

    @Override
    public synchronized boolean containsAll(Collection<?> c) {
        Object[] copy = c.toArray();
        for (Object o : copy) {
            if (!super.contains(o)) return false;
        }
        return true;
    }
}
