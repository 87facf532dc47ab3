// Threads that index made-up documents with Lucene, then threads that search them.
// usage: Search THREADS DOCUMENTS

import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.ByteBuffersDirectory;

final class Search {
    interface Body {
        void run(int me) throws Exception;
    }

    private static void all(int threads, Body body) throws InterruptedException {
        Thread[] started = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            int me = i;
            started[i] = new Thread(() -> {
                try {
                    body.run(me);
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            started[i].start();
        }
        for (Thread thread : started) {
            thread.join();
        }
    }

    private static String text(Random random) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 80; i++) {
            int word = (int) Math.abs(random.nextGaussian() * 200);
            text.append("word").append(word).append(' ');
        }
        return text.toString();
    }

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[0]);
        int documents = Integer.parseInt(args[1]);
        ByteBuffersDirectory directory = new ByteBuffersDirectory();
        try (IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig(new StandardAnalyzer()))) {
            all(threads, me -> {
                Random random = new Random(me);
                for (int i = 0; i < documents; i++) {
                    Document document = new Document();
                    document.add(new TextField("text", text(random), Field.Store.YES));
                    writer.addDocument(document);
                }
            });
            writer.commit();
        }
        AtomicLong hits = new AtomicLong();
        try (DirectoryReader reader = DirectoryReader.open(directory)) {
            IndexSearcher searcher = new IndexSearcher(reader);
            all(threads, me -> {
                for (int word = me; word < 300; word += threads) {
                    TermQuery one = new TermQuery(new Term("text", "word" + word));
                    TermQuery two = new TermQuery(new Term("text", "word" + (word + 7)));
                    BooleanQuery both = new BooleanQuery.Builder()
                            .add(one, BooleanClause.Occur.MUST)
                            .add(two, BooleanClause.Occur.MUST)
                            .build();
                    hits.addAndGet(searcher.count(one) + 1000L * searcher.search(both, 100_000).scoreDocs.length);
                }
            });
            System.out.println(reader.numDocs() + " documents, " + hits + " hits");
        }
    }
}
