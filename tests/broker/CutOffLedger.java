import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.client.LedgerHandle;
import org.apache.bookkeeper.client.LedgerMetadataBuilder;
import org.apache.bookkeeper.client.api.LedgerMetadata;
import org.apache.bookkeeper.conf.ClientConfiguration;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.mledger.proto.MLDataFormats.ManagedLedgerInfo;
import org.apache.bookkeeper.util.LocalBookKeeper;
import org.apache.bookkeeper.versioning.Versioned;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.protocol.Commands;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

/**
 * Three bookies, and a ledger whose metadata are closed under a writer that goes on: prints the ledger, the entries of
 * the closed ledger, how many adds were confirmed, and how many were tried; then copies the bookies' folders.
 *
 * Arguments: port of ZooKeeper, folder that bookies write to (java.io.tmpdir), folder for the copies.
 */
public class CutOffLedger {
    private static final String NAME = "lab/cut/persistent/orders";
    private static final int RECORDED = 4, CONFIRMED = 9;

    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[0]);
        ServerConfiguration conf = new ServerConfiguration();
        conf.setAllowLoopback(true);
        conf.setProperty("journalPreAllocSizeMB", 1);
        conf.setLedgerStorageClass("org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage");
        conf.setProperty("dbStorage_writeCacheMaxSizeMb", 8);
        conf.setProperty("dbStorage_readAheadCacheMaxSizeMb", 8);
        conf.setProperty("dbStorage_rocksDB_blockCacheSize", 1 << 20);
        conf.setEntryLogSizeLimit(1 << 20);
        LocalBookKeeper bookies = LocalBookKeeper.getLocalBookies("127.0.0.1", port, 3, true, conf);
        bookies.start();
        ZooKeeper zk = new ZooKeeper("127.0.0.1:" + port, 30000, event -> { });
        ClientConfiguration client = new ClientConfiguration();
        client.setMetadataServiceUri("zk+hierarchical://127.0.0.1:" + port + "/ledgers");
        client.setAddEntryTimeout(2);
        try (BookKeeper bk = new BookKeeper(client)) {
            Map<String, byte[]> custom = new HashMap<>();
            custom.put("application", "pulsar".getBytes());
            custom.put("component", "managed-ledger".getBytes());
            custom.put("pulsar/managed-ledger", NAME.getBytes());
            LedgerHandle ledger = bk.createLedger(3, 3, 2, BookKeeper.DigestType.CRC32C, new byte[0], custom);
            for (int i = 0; i < RECORDED; i++) {
                ledger.addEntry(bytes(i));
            }
            long size = ledger.getLength();
            close(bk, ledger.getId(), RECORDED - 1, size);
            for (int i = RECORDED; i < CONFIRMED; i++) {
                ledger.addEntry(bytes(i)); // returns when it is confirmed
            }
            bookies.removeBookie();
            bookies.removeBookie();
            CompletableFuture<Integer> last = new CompletableFuture<>();
            ledger.asyncAddEntry(bytes(CONFIRMED), (rc, handle, entry, context) -> last.complete(rc), null);
            int rc = last.get(60, TimeUnit.SECONDS);
            String told = rc == 0 ? "confirmed" : "failed";
            save(zk, "/managed-ledgers/" + NAME, list(ledger.getId(), size));
            System.out.println("ledger\t" + ledger.getId() + "\t" + RECORDED + "\t" + CONFIRMED + "\t" + told);
        }
        dump(zk, "/");
        bookies.shutdownBookies();
        copy(new File(args[1]), Path.of(args[2]));
        System.exit(0);
    }

    /** The ledger's metadata as a recovery leaves them that has seen the first entries only. */
    private static void close(BookKeeper bk, long id, long last, long size) throws Exception {
        Versioned<LedgerMetadata> open = bk.getLedgerManager().readLedgerMetadata(id).get();
        LedgerMetadata closed = LedgerMetadataBuilder.from(open.getValue())
            .withClosedState().withLastEntryId(last).withLength(size).build();
        bk.getLedgerManager().writeLedgerMetadata(id, closed, open.getVersion()).get();
    }

    private static byte[] bytes(int number) {
        MessageMetadata metadata = new MessageMetadata()
            .setProducerName("cut").setSequenceId(number).setPublishTime(1795255988429L + number);
        ByteBuf payload = Unpooled.wrappedBuffer(("order " + number).getBytes(StandardCharsets.UTF_8));
        ByteBuf entry = Commands.serializeMetadataAndPayload(Commands.ChecksumType.Crc32c, metadata, payload);
        byte[] bytes = new byte[entry.readableBytes()];
        entry.readBytes(bytes);
        return bytes;
    }

    private static byte[] list(long id, long size) {
        return ManagedLedgerInfo.newBuilder()
            .addLedgerInfo(ManagedLedgerInfo.LedgerInfo.newBuilder()
                .setLedgerId(id).setEntries(RECORDED).setSize(size).setTimestamp(1795255999999L))
            .addLedgerInfo(ManagedLedgerInfo.LedgerInfo.newBuilder().setLedgerId(id + 1000).setTimestamp(0))
            .build().toByteArray();
    }

    private static void save(ZooKeeper zk, String path, byte[] value) throws Exception {
        StringBuilder made = new StringBuilder();
        for (String part : path.substring(1).split("/")) {
            made.append('/').append(part);
            boolean isLast = made.length() == path.length();
            if (zk.exists(made.toString(), false) == null) {
                byte[] data = isLast ? value : new byte[0];
                zk.create(made.toString(), data, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            }
        }
    }

    private static void dump(ZooKeeper zk, String path) throws Exception {
        if (path.startsWith("/zookeeper")) {
            return;
        }
        byte[] value = zk.getData(path, false, null);
        String text = java.util.Base64.getEncoder().encodeToString(value == null ? new byte[0] : value);
        System.out.println("node\t" + path + "\t" + text + "\t" + zk.exists(path, false).getMtime());
        List<String> children = zk.getChildren(path, false);
        for (String child : children) {
            dump(zk, path.equals("/") ? "/" + child : path + "/" + child);
        }
    }

    /** Entry logs of each bookie, in the folder of its place. */
    private static void copy(File from, Path to) throws Exception {
        List<Path> logs;
        try (var all = Files.walk(from.toPath())) {
            logs = all.filter(one -> one.getFileName().toString().matches("[0-9a-f]+\\.log")
                && one.getParent().getFileName().toString().equals("current")).sorted().toList();
        }
        Map<Path, Integer> numbers = new HashMap<>();
        for (Path log : logs) {
            int number = numbers.computeIfAbsent(log.getParent(), folder -> numbers.size() + 1);
            Path folder = to.resolve("bookie" + number).resolve("current");
            Files.createDirectories(folder);
            Files.copy(log, folder.resolve(log.getFileName()));
        }
    }
}
