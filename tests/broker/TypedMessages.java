// Writes messages of every schema type with the Java client, and tells what a client with AUTO_CONSUME reads of them.
// java -cp lib/* TypedMessages.java SERVICE_URL TOKEN_FILE NAMESPACE [KEYS]; standard input, words between tabs:
// write | encrypted | transactions | keys N | read TOPIC [protobuf | compacted]. KEYS has public.key and private.pem.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors;
import com.google.protobuf.DynamicMessage;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.*;
import java.util.concurrent.TimeUnit;
import org.apache.avro.generic.GenericEnumSymbol;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.reflect.AvroDefault;
import org.apache.avro.reflect.Nullable;
import org.apache.pulsar.client.api.*;
import org.apache.pulsar.client.api.schema.GenericObject;
import org.apache.pulsar.client.api.schema.SchemaDefinition;
import org.apache.pulsar.client.impl.schema.*;
import org.apache.pulsar.common.schema.KeyValue;
import org.apache.pulsar.common.schema.KeyValueEncodingType;
import org.apache.pulsar.functions.proto.Function.ConsumerSpec;
import org.apache.pulsar.functions.proto.Function.FunctionDetails;
import org.apache.pulsar.functions.proto.Function.ProcessingGuarantees;
import org.apache.pulsar.functions.proto.Function.Resources;

public class TypedMessages {
    static final ObjectMapper JSON = new ObjectMapper();

    public enum Colour { RED, GREEN }

    public static class Item {
        public String name;
        public int pieces;
        public Item() { }
        Item(String name, int pieces) { this.name = name; this.pieces = pieces; }
    }

    public static class Order {
        public long id;
        public int count;
        public boolean paid;
        public float weight;
        public double price;
        public String note;
        public byte[] raw;
        public Colour colour;
        public List<Item> items;
        public Map<String, Long> tags;
        public Item first;
        public Order() { }
        Order(int n) {
            id = n * 10_000_000_000L;
            count = -n;
            paid = n % 2 == 0;
            weight = n / 4f;
            price = n / 10.0;
            note = n % 3 == 0 ? null : "note " + n + " \u00fc\u20ac";
            raw = new byte[] {(byte) n, 0, -1};
            colour = n % 2 == 0 ? Colour.RED : Colour.GREEN;
            items = new ArrayList<>();
            for (int i = 0; i < n % 3; i++) items.add(new Item("item " + i, i));
            tags = new TreeMap<>(Map.of("a", (long) n, "b", -1L));
            first = items.isEmpty() ? null : items.get(0);
        }
    }

    /** The same a release later: a field more, one less. */
    public static class Order2 {
        public long id;
        public int count;
        public String note;
        @Nullable public String currency;
        public Order2() { }
        Order2(int n) { id = n; count = n; note = "later"; currency = n % 2 == 0 ? "EUR" : null; }
    }

    public static class Times {
        public Instant at;
        public LocalDate day;
        public LocalTime clock;
        public Times() { }
        Times(int n) {
            at = Instant.ofEpochMilli(1_700_000_000_123L + n);
            day = LocalDate.of(2026, 11, 1 + n);
            clock = LocalTime.of(10, 59, n, 5_000_000);
        }
    }

    static PulsarClient client;
    static String namespace;
    static String keys;

    public static void main(String[] args) throws Exception {
        try {
            run(args);
        } catch (Throwable error) {
            error.printStackTrace();
            System.exit(1);  // the client's threads would go on
        }
        System.exit(0);
    }

    static void run(String[] args) throws Exception {
        client = PulsarClient.builder().serviceUrl(args[0])
            .authentication(AuthenticationFactory.token(Files.readString(Path.of(args[1])).trim()))
            .enableTransaction(args.length > 3).build();
        namespace = args[2];
        keys = args.length > 3 ? args[3] : null;
        try (Scanner lines = new Scanner(System.in, StandardCharsets.UTF_8)) {
            while (lines.hasNextLine()) {
                String[] words = lines.nextLine().split("\t");
                if (words[0].equals("write")) write();
                else if (words[0].equals("encrypted")) encrypted();
                else if (words[0].equals("transactions")) transactions();
                else if (words[0].equals("keys")) keyed(Integer.parseInt(words[1]));
                else read(words[1], words.length > 2 ? words[2] : "");
            }
        }
        client.close();
    }

    static <T> void send(String name, Schema<T> schema, List<T> values) throws Exception {
        send(name, schema, values, "plain");
    }

    static <T> void send(String name, Schema<T> schema, List<T> values, String how) throws Exception {
        ProducerBuilder<T> builder = client.newProducer(schema).topic(topic(name)).producerName("java-" + name + how);
        if (name.endsWith("encrypted")) {
            builder.addEncryptionKey("private").defaultCryptoKeyReader("file:" + keys + "/public.key");
        }
        if (how.equals("batched")) {
            builder.enableBatching(true).batchingMaxPublishDelay(1, TimeUnit.SECONDS).batchingMaxMessages(100)
                .compressionType(CompressionType.ZSTD);
        } else {
            builder.enableBatching(false);
            if (how.equals("chunked")) {
                builder.enableChunking(true).chunkMaxMessageSize(700).compressionType(CompressionType.LZ4);
            }
        }
        try (Producer<T> producer = builder.create()) {
            for (T value : values) producer.newMessage().value(value).sendAsync();
            producer.flush();
        }
    }

    static String topic(String name) { return "persistent://" + namespace + "/" + name; }

    static List<Order> orders(int from, int to) {
        List<Order> made = new ArrayList<>();
        for (int n = from; n < to; n++) made.add(new Order(n));
        return made;
    }

    static List<Order2> later(int from, int to) {
        List<Order2> made = new ArrayList<>();
        for (int n = from; n < to; n++) made.add(new Order2(n));
        return made;
    }

    static <T> Schema<T> avro(Class<T> kind) {
        return AvroSchema.of(SchemaDefinition.<T>builder().withPojo(kind).withAlwaysAllowNull(true)
            .withJSR310ConversionEnabled(true).build());
    }

    static FunctionDetails function(int n) {
        FunctionDetails.Builder made = FunctionDetails.newBuilder().setTenant("t" + n).setParallelism(n)
            .setProcessingGuarantees(ProcessingGuarantees.EFFECTIVELY_ONCE)
            .setResources(Resources.newBuilder().setCpu(n / 2.0).setRam(1L << 40));
        made.getSourceBuilder().setTypeClassName("c" + n).putTopicsToSerDeClassName("x", "y")
            .putInputSpecs("in", ConsumerSpec.newBuilder().setSchemaType("avro").setIsRegexPattern(true).build());
        return made.build();
    }

    static void write() throws Exception {
        send("bytes", Schema.BYTES, List.of(new byte[] {1, 2, 3}, new byte[0]));
        send("string", Schema.STRING, List.of("text", "", "\u00fc\u20ac\ud83d\ude00"));
        send("int8", Schema.INT8, List.of((byte) 1, Byte.MIN_VALUE));
        send("int16", Schema.INT16, List.of((short) 1, Short.MIN_VALUE));
        send("int32", Schema.INT32, List.of(1, Integer.MIN_VALUE, Integer.MAX_VALUE));
        send("int64", Schema.INT64, List.of(1L, Long.MIN_VALUE, Long.MAX_VALUE), "batched");
        send("float", Schema.FLOAT, List.of(1.5f, -0.1f, Float.MAX_VALUE));
        send("double", Schema.DOUBLE, List.of(1.5, -0.1, Double.MAX_VALUE));
        send("boolean", Schema.BOOL, List.of(true, false));
        send("date", Schema.DATE, List.of(new Date(1_700_000_000_123L), new Date(-1)));
        send("time", Schema.TIME, List.of(new java.sql.Time(36_000_123L)));
        send("timestamp", Schema.TIMESTAMP, List.of(new java.sql.Timestamp(1_700_000_000_123L)));
        send("instant", Schema.INSTANT, List.of(Instant.ofEpochSecond(1_700_000_000L, 123_456_789), Instant.ofEpochSecond(-1, 5000)));
        send("localdate", Schema.LOCAL_DATE, List.of(LocalDate.of(2026, 11, 24), LocalDate.of(1, 1, 1)));
        send("localtime", Schema.LOCAL_TIME, List.of(LocalTime.of(23, 59, 59, 123_456_789), LocalTime.MIDNIGHT));
        send("localdatetime", Schema.LOCAL_DATE_TIME, List.of(LocalDateTime.of(2026, 11, 24, 1, 2, 3, 123_456_000), LocalDateTime.of(1960, 1, 1, 0, 0)));
        send("avro", avro(Order.class), orders(0, 6), "batched");
        send("avro", avro(Order2.class), later(6, 9));
        send("avro", avro(Order.class), orders(9, 11), "chunked");
        send("avrotimes", avro(Times.class), List.of(new Times(0), new Times(1)));
        send("json", JSONSchema.of(Order.class), orders(0, 6), "batched");
        send("json", JSONSchema.of(Order2.class), later(6, 9));
        send("jsontimes", JSONSchema.of(SchemaDefinition.<Times>builder().withPojo(Times.class)
            .withJSR310ConversionEnabled(true).build()), List.of(new Times(0), new Times(1)));
        send("protobuf", ProtobufSchema.of(FunctionDetails.class), List.of(function(0), function(3)));
        send("protobufnative", ProtobufNativeSchema.of(FunctionDetails.class), List.of(function(0), function(3)), "batched");
        send("kvinline", Schema.KeyValue(Schema.INT32, avro(Item.class), KeyValueEncodingType.INLINE),
            List.of(new KeyValue<>(5, new Item("five", 5)), new KeyValue<>(6, new Item(null, 6))), "batched");
        send("kvseparated", Schema.KeyValue(avro(Item.class), JSONSchema.of(Item.class), KeyValueEncodingType.SEPARATED),
            List.of(new KeyValue<>(new Item("k", 1), new Item("five", 5)), new KeyValue<>(new Item("l", 1), new Item(null, 6))), "batched");
        try (Producer<String> producer = client.newProducer(Schema.STRING).topic(topic("nulls")).enableBatching(false).create()) {
            producer.newMessage().value(null).send();
            producer.newMessage().value("here").send();
        }
        System.out.println("> written");
    }

    static void encrypted() throws Exception {
        send("avroencrypted", avro(Order.class), orders(0, 6), "batched");
        send("avroencrypted", avro(Order2.class), later(6, 9));
        send("avroencrypted", avro(Order.class), orders(9, 11), "chunked");
        System.out.println("> written");
    }

    /** One transaction that is committed, one aborted, and a delayed message, of which readers are not told to wait. */
    static void transactions() throws Exception {
        try (Producer<String> producer = client.newProducer(Schema.STRING).topic(topic("transactions"))
                .enableBatching(false).sendTimeout(0, TimeUnit.SECONDS).create()) {
            var kept = client.newTransaction().withTransactionTimeout(2, TimeUnit.MINUTES).build().get();
            var undone = client.newTransaction().withTransactionTimeout(2, TimeUnit.MINUTES).build().get();
            producer.newMessage().value("before").send();
            producer.newMessage(kept).value("kept 1").send();
            producer.newMessage(undone).value("undone 1").send();
            producer.newMessage(kept).value("kept 2").send();
            producer.newMessage().value("between").send();
            undone.abort().get();
            kept.commit().get();
            producer.newMessage().value("after").deliverAfter(1, TimeUnit.HOURS).send();
        }
        System.out.println("> written");
    }

    /** Keys again and again, in batches and alone; one is deleted, and some messages have none. */
    static void keyed(int from) throws Exception {
        for (boolean batched : new boolean[] {true, false}) {
            try (Producer<String> producer = client.newProducer(Schema.STRING).topic(topic("keys"))
                    .enableBatching(batched).batchingMaxPublishDelay(1, TimeUnit.SECONDS).create()) {
                for (int n = from; n < from + 6; n++) {
                    producer.newMessage().key("key " + n % 4).value((batched ? "batched " : "alone ") + n).sendAsync();
                }
                producer.newMessage().value("without key").sendAsync();
                producer.newMessage().key("key " + from % 4).value("").sendAsync();
                producer.flush();
            }
        }
        System.out.println("> written");
    }

    static void read(String name, String how) throws Exception {
        Schema<?> schema = how.equals("protobuf") ? ProtobufSchema.of(FunctionDetails.class) : Schema.AUTO_CONSUME();
        var builder = client.newReader(schema).topic(topic(name)).startMessageId(MessageId.earliest)
            .readCompacted(how.equals("compacted"));
        if (name.endsWith("encrypted")) builder.defaultCryptoKeyReader("file:" + keys + "/private.pem");
        try (Reader<?> reader = builder.create()) {
            while (reader.hasMessageAvailable()) {
                Message<?> message = reader.readNext(20, TimeUnit.SECONDS);
                Map<String, Object> told = new LinkedHashMap<>();
                told.put("topic", name);
                told.put("data", message.getData() == null ? null : Base64.getEncoder().encodeToString(message.getData()));
                byte[] version = message.getSchemaVersion();
                told.put("version", version == null ? null : Base64.getEncoder().encodeToString(version));
                told.put("partition_key", message.getKey());
                try {
                    told.put("value", shown(message.getValue()));
                } catch (Exception error) {
                    told.put("error", error.toString());
                }
                System.out.println("> " + JSON.writeValueAsString(told));
            }
        }
        System.out.println("> done");
    }

    static Object shown(Object value) throws Exception {
        if (value instanceof GenericObject) {
            return shown(((GenericObject) value).getNativeObject());
        }
        if (value instanceof KeyValue) {
            Map<String, Object> both = new LinkedHashMap<>();
            both.put("key", shown(((KeyValue<?, ?>) value).getKey()));
            both.put("value", shown(((KeyValue<?, ?>) value).getValue()));
            return both;
        }
        if (value instanceof IndexedRecord) {
            IndexedRecord record = (IndexedRecord) value;
            Map<String, Object> fields = new LinkedHashMap<>();
            for (var field : record.getSchema().getFields()) fields.put(field.name(), shown(record.get(field.pos())));
            return fields;
        }
        if (value instanceof com.google.protobuf.Message) return message((com.google.protobuf.Message) value);
        if (value instanceof JsonNode) return value;
        if (value instanceof byte[]) return Base64.getEncoder().encodeToString((byte[]) value);
        if (value instanceof ByteBuffer) {
            byte[] bytes = new byte[((ByteBuffer) value).remaining()];
            ((ByteBuffer) value).duplicate().get(bytes);
            return shown(bytes);
        }
        if (value instanceof GenericFixed) return shown(((GenericFixed) value).bytes());
        if (value instanceof ByteString) return shown(((ByteString) value).toByteArray());
        if (value instanceof Collection) {
            List<Object> all = new ArrayList<>();
            for (Object one : (Collection<?>) value) all.add(shown(one));
            return all;
        }
        if (value instanceof Map) {
            Map<String, Object> all = new TreeMap<>();
            for (var one : ((Map<?, ?>) value).entrySet()) all.put(one.getKey().toString(), shown(one.getValue()));
            return all;
        }
        if (value instanceof Date) return ((Date) value).getTime();
        if (value == null || value instanceof Number || value instanceof Boolean) return value;
        return value.toString();  // texts, enums, and java.time, which writes ISO 8601
    }

    static Object message(com.google.protobuf.Message message) throws Exception {
        Map<String, Object> fields = new LinkedHashMap<>();
        for (Descriptors.FieldDescriptor field : message.getDescriptorForType().getFields()) {
            if (field.hasPresence() && !message.hasField(field)) fields.put(field.getName(), null);
            else if (field.isMapField()) {
                Map<String, Object> all = new TreeMap<>();
                for (Object one : (List<?>) message.getField(field)) {
                    com.google.protobuf.Message entry = (com.google.protobuf.Message) one;
                    var kind = entry.getDescriptorForType();
                    all.put(entry.getField(kind.findFieldByName("key")).toString(), shown(entry.getField(kind.findFieldByName("value"))));
                }
                fields.put(field.getName(), all);
            } else if (message.getField(field) instanceof Descriptors.EnumValueDescriptor) {
                fields.put(field.getName(), ((Descriptors.EnumValueDescriptor) message.getField(field)).getName());
            } else fields.put(field.getName(), shown(message.getField(field)));
        }
        return fields;
    }
}
