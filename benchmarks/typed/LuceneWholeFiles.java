import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.util.QueryBuilder;

/**
 * What Lucene ranks, each file one document: java -cp 'jars/*' LuceneWholeFiles.java FOLDER PATHS QUESTIONS.
 *
 * <p>Its defaults: BM25 with k1 1.2 and b 0.75, the English analyzer (stop words, Porter's stems), any of the words.
 * The path stands above the text. PATHS and QUESTIONS have one a line; prints a line of ten paths for each question.
 */
class LuceneWholeFiles {
    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        Analyzer analyzer = new EnglishAnalyzer();
        var directory = new ByteBuffersDirectory();
        try (var writer = new IndexWriter(directory, new IndexWriterConfig(analyzer))) {
            for (String path : lines(arguments[1])) {
                String text = new String(Files.readAllBytes(folder.resolve(path)), StandardCharsets.UTF_8);
                var document = new Document();
                document.add(new StringField("path", path, Field.Store.YES));
                document.add(new TextField("text", path.replaceAll("\\W|_", " ") + "\n" + text, Field.Store.NO));
                writer.addDocument(document);
            }
        }
        try (var reader = DirectoryReader.open(directory)) {
            var searcher = new IndexSearcher(reader);
            for (String question : lines(arguments[2])) {
                var found = new StringBuilder();
                var query = new QueryBuilder(analyzer).createBooleanQuery("text", question);
                for (ScoreDoc hit : query == null ? new ScoreDoc[0] : searcher.search(query, 10).scoreDocs) {
                    found.append(found.isEmpty() ? "" : "\t");
                    found.append(searcher.storedFields().document(hit.doc).get("path"));
                }
                System.out.println(found);
            }
        }
    }

    private static List<String> lines(String path) throws Exception {
        return Files.readAllLines(Path.of(path), StandardCharsets.UTF_8);
    }
}
