import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.pulsar.client.api.AuthenticationFactory;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.Reader;

/**
 * A topic read by Pulsar's Java client, again for each line of standard input; prints how many messages, and nanoseconds.
 * Arguments: service URL, token file, topic, messages. Run as a single source file by bench/live.py.
 */
public class LiveReader {
    private static final int QUEUE = 10_000;

    public static void main(String[] args) throws Exception {
        String token = Files.readString(Path.of(args[1])).strip();
        long messages = Long.parseLong(args[3]);
        try (PulsarClient client = PulsarClient.builder().serviceUrl(args[0])
                .authentication(AuthenticationFactory.token(token)).build()) {
            BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
            while (asked.readLine() != null) {
                long began = System.nanoTime();
                long read = 0;
                try (Reader<byte[]> reader = client.newReader().topic(args[2]).startMessageId(MessageId.earliest)
                        .receiverQueueSize(QUEUE).create()) {
                    while (read < messages) {
                        reader.readNext();
                        read++;
                    }
                    System.out.println("read " + read + " " + (System.nanoTime() - began));
                }
            }
        }
    }
}
