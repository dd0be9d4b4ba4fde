import java.io.*;
import java.lang.reflect.Proxy;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import org.apache.bookkeeper.client.api.LedgerEntries;
import org.apache.bookkeeper.client.api.LedgerEntry;
import org.apache.bookkeeper.client.api.ReadHandle;
import org.apache.bookkeeper.common.util.OrderedScheduler;
import org.apache.bookkeeper.mledger.LedgerOffloader.OffloadHandle;
import org.apache.bookkeeper.mledger.LedgerOffloaderStats;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.impl.EntryImpl;
import org.apache.bookkeeper.mledger.offload.jcloud.impl.BlobStoreManagedLedgerOffloader;
import org.apache.bookkeeper.mledger.offload.jcloud.impl.OffsetsCache;
import org.apache.bookkeeper.mledger.offload.jcloud.provider.JCloudBlobStoreProvider;
import org.apache.bookkeeper.mledger.offload.jcloud.provider.TieredStorageConfiguration;
import org.apache.bookkeeper.mledger.proto.MLDataFormats.ManagedLedgerInfo.LedgerInfo;
import org.apache.bookkeeper.mledger.proto.MLDataFormats.OffloadContext;
import org.apache.bookkeeper.mledger.proto.MLDataFormats.OffloadSegment;
import org.jclouds.blobstore.BlobStore;
import org.jclouds.blobstore.domain.Blob;

/**
 * The offloader's own streaming offload and its reader, on a store in memory, told line by line what to do:
 *
 *   write FOLDER UUID RECORDS BLOCK_BYTES    offload these entries as one segment, into FOLDER
 *   read FOLDER UUIDS RECORDS LEDGER ENTRIES read a ledger of so many entries back from the segments in FOLDER
 *
 * RECORDS to write are [ ledger i64 ][ entry i64 ][ entries of the ledger i64 ][ their bytes i64 ][ length i32 ][ bytes ],
 * with 0 entries where it is open; those that were read are [ entry i64 ][ length i32 ][ bytes ]. A line that fails is
 * answered by its error. Answers begin with "> ", for the offloader logs to the same place.
 */
public class StreamingOffload {
    static final String BUCKET = "bucket";
    static final int TIMEOUT_SECONDS = 20;
    static final Map<String, String> VERSION = Map.of("s3managedledgeroffloaderformatversion", "1");

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t");
            try {
                if (words[0].equals("write")) {
                    write(Path.of(words[1]), UUID.fromString(words[2]), Path.of(words[3]), words[4]);
                } else {
                    read(Path.of(words[1]), words[2].split(","), Path.of(words[3]), Long.parseLong(words[4]),
                        Long.parseLong(words[5]));
                }
                System.out.println("> done");
            } catch (Throwable error) {
                System.out.println("> " + error.toString().split("\n")[0]);
            }
        }
        System.exit(0);
    }

    /** A store in memory, always the same one: the provider makes another each time. */
    static class Config extends TieredStorageConfiguration {
        final BlobStore store;

        Config(String blockBytes) {
            super(Map.of(BLOB_STORE_PROVIDER_KEY, "transient", METADATA_FIELD_BUCKET, BUCKET,
                METADATA_FIELD_MIN_BLOCK_SIZE, blockBytes));
            setProvider(JCloudBlobStoreProvider.TRANSIENT);
            store = super.getBlobStore();
            if (!store.containerExists(BUCKET)) {
                store.createContainerInLocation(null, BUCKET);
            }
        }

        @Override
        public String getBucket() {
            return BUCKET;
        }

        @Override
        public Integer getMinBlockSizeInBytes() {
            return Integer.valueOf(getConfigProperty(METADATA_FIELD_MIN_BLOCK_SIZE));
        }

        @Override
        public Integer getWriteBufferSizeInBytes() {
            return 1_000_000_000;
        }

        @Override
        public BlobStore getBlobStore() {
            return store;
        }
    }

    static BlobStoreManagedLedgerOffloader offloader(Config config, OrderedScheduler scheduler) throws IOException {
        return BlobStoreManagedLedgerOffloader.create(config, new HashMap<>(), scheduler, scheduler,
            LedgerOffloaderStats.create(false, false, null, 0), new OffsetsCache());
    }

    static void write(Path folder, UUID uuid, Path records, String blockBytes) throws Exception {
        Config config = new Config(blockBytes);
        OrderedScheduler scheduler = OrderedScheduler.newSchedulerBuilder().numThreads(1).name("offload").build();
        // The offloader never subtracts a block's first entry from what it holds: all is offered before it looks.
        CountDownLatch offered = new CountDownLatch(1);
        scheduler.submit(() -> {
            offered.await();
            return null;
        });
        Map<Long, LedgerInfo> infos = new HashMap<>();
        ManagedLedger ledgers = (ManagedLedger) Proxy.newProxyInstance(StreamingOffload.class.getClassLoader(),
            new Class<?>[] {ManagedLedger.class}, (proxy, method, given) -> switch (method.getName()) {
                case "getName" -> "tenant/space/persistent/topic";
                case "getLedgerInfo" -> CompletableFuture.completedFuture(infos.get((Long) given[0]));
                default -> throw new UnsupportedOperationException(method.getName());
            });
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(records)))) {
            OffloadHandle handle = null;
            while (in.available() > 0) {
                long ledger = in.readLong(), entry = in.readLong(), entries = in.readLong(), size = in.readLong();
                byte[] body = in.readNBytes(in.readInt());
                LedgerInfo.Builder info = LedgerInfo.newBuilder().setLedgerId(ledger);
                infos.put(ledger, entries == 0 ? info.build()
                    : info.setEntries(entries).setSize(size).setTimestamp(1_700_000_000_000L).build());
                if (handle == null) {
                    handle = offloader(config, scheduler).streamingOffload(ledgers, uuid, ledger, entry, Map.of()).get();
                }
                String said = handle.offerEntry(EntryImpl.create(ledger, entry, body)).toString();
                if (!said.equals("SUCCESS")) {
                    throw new IllegalStateException(said);
                }
            }
            handle.close();
            offered.countDown();
            handle.getOffloadResultAsync().get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
        } finally {
            offered.countDown();
            scheduler.shutdownNow();
        }
        for (String key : List.of(uuid.toString(), uuid + "-index")) {
            try (InputStream blob = config.store.getBlob(BUCKET, key).getPayload().openStream()) {
                Files.copy(blob, folder.resolve(key), StandardCopyOption.REPLACE_EXISTING);
            }
        }
    }

    static void read(Path folder, String[] uuids, Path records, long ledger, long entries) throws Exception {
        Config config = new Config("1000");
        OffloadContext.Builder context = OffloadContext.newBuilder().setComplete(true);
        for (String text : uuids) {
            UUID uuid = UUID.fromString(text);
            context.addOffloadSegment(OffloadSegment.newBuilder().setUidMsb(uuid.getMostSignificantBits())
                .setUidLsb(uuid.getLeastSignificantBits()).setComplete(true));
            for (String key : List.of(text, text + "-index")) {
                byte[] stored = Files.readAllBytes(folder.resolve(key));
                Blob blob = config.store.blobBuilder(key).userMetadata(VERSION).payload(stored).build();
                config.store.putBlob(BUCKET, blob);
            }
        }
        OrderedScheduler scheduler = OrderedScheduler.newSchedulerBuilder().numThreads(1).name("read").build();
        try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(records)))) {
            ReadHandle handle = offloader(config, scheduler).readOffloaded(ledger, context.build(), Map.of())
                .get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
            try (LedgerEntries found = handle.readAsync(0, entries - 1).get(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
                for (LedgerEntry one : found) {
                    out.writeLong(one.getEntryId());
                    out.writeInt((int) one.getLength());
                    out.write(one.getEntryBytes());
                }
            }
        } finally {
            scheduler.shutdownNow();
        }
    }
}
