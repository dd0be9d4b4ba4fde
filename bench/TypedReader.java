import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.AuthenticationFactory;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.Reader;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.schema.GenericRecord;

/**
 * Avro messages of 1 KB, batched: written once, then read and decoded for each line of standard input.
 * Arguments: service URL, token file, topic, messages. Run as a single source file by bench/typed.py.
 */
public class TypedReader {
    private static final int QUEUE = 10_000;

    public static class Order {
        public long id;
        public int pieces;
        public double price;
        public boolean paid;
        public String customer;
        public String note;
    }

    public static void main(String[] args) throws Exception {
        String token = Files.readString(Path.of(args[1])).strip();
        int messages = Integer.parseInt(args[3]);
        try (PulsarClient client = PulsarClient.builder().serviceUrl(args[0])
                .authentication(AuthenticationFactory.token(token)).build()) {
            write(client, args[2], messages);
            System.out.println("written");
            BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
            while (asked.readLine() != null) System.out.println("read " + read(client, args[2], messages));
        }
    }

    private static void write(PulsarClient client, String topic, int messages) throws Exception {
        try (Producer<Order> producer = client.newProducer(Schema.AVRO(Order.class)).topic(topic)
                .batchingMaxMessages(100).batchingMaxPublishDelay(20, TimeUnit.MILLISECONDS).blockIfQueueFull(true)
                .create()) {
            for (int n = 0; n < messages; n++) {
                Order order = new Order();
                order.id = n;
                order.pieces = n % 100;
                order.price = n / 100.0;
                order.paid = n % 2 == 0;
                order.customer = "customer " + n % 1000;
                order.note = String.valueOf(n % 10).repeat(980);
                producer.sendAsync(order);
            }
            producer.flush();
        }
    }

    private static long read(PulsarClient client, String topic, int messages) throws Exception {
        long sum = 0;
        int read = 0;
        try (Reader<GenericRecord> reader = client.newReader(Schema.AUTO_CONSUME()).topic(topic)
                .startMessageId(MessageId.earliest).receiverQueueSize(QUEUE).create()) {
            for (; read < messages; read++) sum += (Long) reader.readNext().getValue().getField("id");
        }
        return sum == (long) messages * (messages - 1) / 2 ? read : -1;
    }
}
