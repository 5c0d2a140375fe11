import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.codelibs.opensearch.runner.node.OpenSearchRunnerNode;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.plugins.Plugin;

/** One node of a cluster, of the settings in HOME/config/opensearch.yml: java -cp 'lib/*' Node.java HOME PLUGIN_CLASS... */
public class Node {
    public static void main(String[] arguments) throws Exception {
        Path config = Path.of(arguments[0], "config");
        Settings settings = Settings.builder().loadFromPath(config.resolve("opensearch.yml")).build();
        List<Class<? extends Plugin>> plugins = new ArrayList<>();
        for (int at = 1; at < arguments.length; at++) {
            plugins.add(Class.forName(arguments[at]).asSubclass(Plugin.class));
        }
        try (OpenSearchRunnerNode node = new OpenSearchRunnerNode(new Environment(settings, config), plugins)) {
            node.start();
            Thread.currentThread().join();
        }
    }
}
