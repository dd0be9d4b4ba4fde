import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.api.v5.CheckpointConsumer;
import org.apache.pulsar.client.api.v5.Checkpoint;
import org.apache.pulsar.client.api.v5.Message;
import org.apache.pulsar.client.api.v5.MessageBuilder;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.QueueConsumer;
import org.apache.pulsar.client.api.v5.StreamConsumer;
import org.apache.pulsar.client.api.v5.Transaction;
import org.apache.pulsar.client.api.v5.config.BatchingPolicy;
import org.apache.pulsar.client.api.v5.config.ChunkingPolicy;
import org.apache.pulsar.client.api.v5.config.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.v5.config.TransactionPolicy;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksIterator;

/**
 * Clients of 5.0.0-M1 that are told line by line what to do, words separated by tabs, and answer each line with one of JSON.
 *
 * <pre>
 * send      v4|v5  topic  producer  first label  count  bytes  plain|batch|chunk  transaction or -
 * begin     v4|v5  transaction
 * commit    v4|v5  transaction               abort likewise
 * receive   queue|stream|checkpoint|v4  topic  subscription or -  all|half|none  transaction or -
 * dump      folder of the metadata store  file
 * </pre>
 */
public class Clients {
    private static final Duration QUIET = Duration.ofSeconds(3);
    private final PulsarClient five;
    private final org.apache.pulsar.client.api.PulsarClient four;
    private final Map<String, Transaction> ofFive = new HashMap<>();
    private final Map<String, org.apache.pulsar.client.api.transaction.Transaction> ofFour = new HashMap<>();

    Clients(String url) throws Exception {
        five = PulsarClient.builder().serviceUrl(url)
                .transactionPolicy(TransactionPolicy.builder().timeout(Duration.ofHours(1)).build()).build();
        four = org.apache.pulsar.client.api.PulsarClient.builder().serviceUrl(url).enableTransaction(true).build();
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        Clients clients = new Clients(args[0]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = clients.answer(line.split("\t"));
            } catch (Throwable failure) {
                failure.printStackTrace();
                answer = "{\"failed\":\"" + String.valueOf(failure).replaceAll("[\"\\\\\\p{Cntrl}]", " ") + "\"}";
            }
            out.println(answer);
            out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "send":
                return words[1].equals("v5") ? sendFive(words) : sendFour(words);
            case "begin":
                if (words[1].equals("v5")) {
                    ofFive.put(words[2], five.newTransaction());
                } else {
                    ofFour.put(words[2], four.newTransaction().withTransactionTimeout(1, TimeUnit.HOURS).build().get());
                }
                return "[]";
            case "commit":
                if (words[1].equals("v5")) {
                    ofFive.get(words[2]).commit();
                } else {
                    ofFour.get(words[2]).commit().get();
                }
                return "[]";
            case "abort":
                if (words[1].equals("v5")) {
                    ofFive.get(words[2]).abort();
                } else {
                    ofFour.get(words[2]).abort().get();
                }
                return "[]";
            case "receive":
                return receive(words[1], words[2], words[3], words[4], words[5]);
            case "dump":
                return dump(words[1], words[2]);
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private String sendFive(String[] words) throws Exception {
        int first = Integer.parseInt(words[4]);
        int count = Integer.parseInt(words[5]);
        var builder = five.newProducer(Schema.bytes()).topic(words[2]).producerName(words[3]);
        boolean batched = words[7].equals("batch");
        builder.batchingPolicy(batched
                ? BatchingPolicy.builder().maxPublishDelay(Duration.ofMillis(200)).maxMessages(5).build()
                : BatchingPolicy.ofDisabled());
        if (words[7].equals("chunk")) {
            builder.chunkingPolicy(ChunkingPolicy.builder().enabled(true).chunkSize(16000).build());
        }
        List<String> sent = new ArrayList<>();
        try (Producer<byte[]> producer = builder.create()) {
            List<CompletableFuture<?>> waiting = new ArrayList<>();
            for (int n = first; n < first + count; n++) {
                byte[] payload = payload(n, Integer.parseInt(words[6]));
                Transaction transaction = ofFive.get(words[8]);
                if (batched) {
                    var message = producer.async().newMessage().key("key-" + n).property("label", "m" + n).value(payload);
                    waiting.add((transaction == null ? message : message.transaction(transaction)).send());
                } else {
                    MessageBuilder<byte[]> message = producer.newMessage().key("key-" + n).property("label", "m" + n).value(payload);
                    (transaction == null ? message : message.transaction(transaction)).send();
                }
                sent.add(row("m" + n, payload, ""));
            }
            for (CompletableFuture<?> one : waiting) {
                one.get(30, TimeUnit.SECONDS);
            }
        }
        return sent.toString();
    }

    private String sendFour(String[] words) throws Exception {
        int first = Integer.parseInt(words[4]);
        int count = Integer.parseInt(words[5]);
        boolean batched = words[7].equals("batch");
        var builder = four.newProducer().topic(words[2]).producerName(words[3]).enableBatching(batched).batchingMaxMessages(5)
                .batchingMaxPublishDelay(200, TimeUnit.MILLISECONDS).sendTimeout(0, TimeUnit.SECONDS);
        if (words[7].equals("chunk")) {
            builder.enableChunking(true).chunkMaxMessageSize(16000);
        }
        List<String> sent = new ArrayList<>();
        try (var producer = builder.create()) {
            List<CompletableFuture<?>> waiting = new ArrayList<>();
            for (int n = first; n < first + count; n++) {
                byte[] payload = payload(n, Integer.parseInt(words[6]));
                var transaction = ofFour.get(words[8]);
                var message = transaction == null ? producer.newMessage() : producer.newMessage(transaction);
                waiting.add(message.key("key-" + n).property("label", "m" + n).value(payload).sendAsync());
                sent.add(row("m" + n, payload, ""));
            }
            producer.flush();
            for (CompletableFuture<?> one : waiting) {
                one.get(30, TimeUnit.SECONDS);
            }
        }
        return sent.toString();
    }

    private String receive(String kind, String topic, String subscription, String acks, String transaction) throws Exception {
        List<String> got = new ArrayList<>();
        if (kind.equals("queue")) {
            try (QueueConsumer<byte[]> consumer = five.newQueueConsumer(Schema.bytes()).topic(topic).subscriptionName(subscription)
                    .subscriptionInitialPosition(SubscriptionInitialPosition.EARLIEST).subscribe()) {
                for (Message<byte[]> one = consumer.receive(QUIET); one != null; one = consumer.receive(QUIET)) {
                    if (acks.equals("all") || (acks.equals("half") && got.size() % 2 == 0)) {
                        if (ofFive.containsKey(transaction)) {
                            consumer.acknowledge(one.id(), ofFive.get(transaction));
                        } else {
                            consumer.acknowledge(one.id());
                        }
                    }
                    got.add(row(one));
                }
                Thread.sleep(300);
            }
        } else if (kind.equals("stream")) {
            try (StreamConsumer<byte[]> consumer = five.newStreamConsumer(Schema.bytes()).topic(topic).subscriptionName(subscription)
                    .subscriptionInitialPosition(SubscriptionInitialPosition.EARLIEST).subscribe()) {
                for (Message<byte[]> one = consumer.receive(QUIET); one != null; one = consumer.receive(QUIET)) {
                    if (acks.equals("all")) {
                        consumer.acknowledgeCumulative(one.id());
                    }
                    got.add(row(one));
                }
                Thread.sleep(300);
            }
        } else if (kind.equals("checkpoint")) {
            try (CheckpointConsumer<byte[]> consumer = five.newCheckpointConsumer(Schema.bytes()).topic(topic)
                    .startPosition(Checkpoint.earliest()).create()) {
                for (Message<byte[]> one = consumer.receive(QUIET); one != null; one = consumer.receive(QUIET)) {
                    got.add(row(one));
                }
            }
        } else {
            try (var consumer = four.newConsumer().topic(topic).subscriptionName(subscription).subscriptionType(SubscriptionType.Shared)
                    .subscriptionInitialPosition(org.apache.pulsar.client.api.SubscriptionInitialPosition.Earliest).subscribe()) {
                for (var one = consumer.receive(3, TimeUnit.SECONDS); one != null; one = consumer.receive(3, TimeUnit.SECONDS)) {
                    if (acks.equals("all") || (acks.equals("half") && got.size() % 2 == 0)) {
                        consumer.acknowledge(one);
                    }
                    got.add(row(one.getProperty("label"), one.getValue(), one.getTopicName()));
                }
            }
        }
        return got.toString();
    }

    private static String dump(String store, String file) throws Exception {
        RocksDB.loadLibrary();
        StringBuilder text = new StringBuilder("{");
        try (Options options = new Options(); RocksDB db = RocksDB.openReadOnly(options, store); RocksIterator at = db.newIterator()) {
            for (at.seekToFirst(); at.isValid(); at.next()) {
                String path = new String(at.key(), StandardCharsets.UTF_8);
                if (!path.matches("/(managed-ledgers|topics|txn|ledgers)/.*")) {
                    continue;
                }
                ByteBuffer value = ByteBuffer.wrap(at.value());
                byte[] data = new byte[value.remaining() - value.getInt(0)];
                value.position(value.getInt(0)).get(data);
                text.append(text.length() > 1 ? ",\n" : "\n").append('"').append(path).append("\": \"")
                        .append(Base64.getEncoder().encodeToString(data)).append('"');
            }
        }
        Files.writeString(Path.of(file), text.append("\n}\n"));
        return "[]";
    }

    private static byte[] payload(int number, int size) {
        byte[] payload = new byte[size];
        new Random(number).nextBytes(payload);
        return payload;
    }

    private static String row(Message<byte[]> one) throws Exception {
        return row(one.properties().get("label"), one.value(), one.topic());
    }

    private static String row(String label, byte[] payload, String topic) throws Exception {
        String digest = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(payload));
        return "[\"" + label + "\", " + payload.length + ", \"" + digest + "\", \"" + topic + "\"]";
    }
}
