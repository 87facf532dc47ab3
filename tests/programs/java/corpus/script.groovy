// Groovy: closures, a class, threads, and a synchronized method, compiled when it is run.
import groovy.transform.Synchronized
import java.util.concurrent.Callable
import java.util.concurrent.Executors

class Counter {
    private int value
    private Map<String, Integer> words = [:]

    @Synchronized
    void add(int by, String word) {
        value += by
        words[word] = (words[word] ?: 0) + 1
    }

    @Synchronized
    String toString() { "$value ${words.sort()}" }
}

def counter = new Counter()
def pool = Executors.newFixedThreadPool(4)
def futures = (1..4).collect { number ->
    pool.submit({ (1..300).each { counter.add(it * number, "word${it % 3}".toString()) }; number } as Callable)
}
println futures*.get()
pool.shutdown()
println counter
println((1..10).findAll { it % 2 }.collect { it ** 2 }.inject(0) { a, b -> a + b })
println([a: 1, b: [2, 3]].collectMany { k, v -> [k, v] })
