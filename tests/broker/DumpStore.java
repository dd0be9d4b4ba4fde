import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.metadata.api.GetResult;
import org.apache.pulsar.metadata.api.MetadataStore;
import org.apache.pulsar.metadata.api.MetadataStoreConfig;
import org.apache.pulsar.metadata.api.MetadataStoreFactory;

/** Prints every node of a metadata store: path, base64 of the value, time of the last change, separated by tabs. */
public class DumpStore {
    public static void main(String[] args) throws Exception {
        try (MetadataStore store = MetadataStoreFactory.create(args[0], MetadataStoreConfig.builder().build())) {
            walk(store, "/");
        }
        System.exit(0);
    }

    private static void walk(MetadataStore store, String path) throws Exception {
        Optional<GetResult> found = store.get(path).get(10, TimeUnit.SECONDS);
        if (found.isPresent() && !path.equals("/")) {
            String value = Base64.getEncoder().encodeToString(found.get().getValue());
            System.out.println(path + "\t" + value + "\t" + found.get().getStat().getModificationTimestamp());
        }
        List<String> children = store.getChildren(path).get(10, TimeUnit.SECONDS);
        for (String child : children) {
            walk(store, path.equals("/") ? "/" + child : path + "/" + child);
        }
    }
}
