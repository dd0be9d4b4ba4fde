import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.AuthenticationFactory;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.DeadLetterPolicy;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;

/**
 * Consumers that are told line by line what to do, words separated by tabs, and answer each line with one of JSON.
 *
 * <pre>
 * join   name  topic  subscription  type  rejects or -     each acknowledges what it gets; one that rejects N does so to every
 *                                                          message by a negative acknowledgement, a dead letter after N
 * leave  name                                              it closes
 * got                                                      first letters of all messages that came and were acknowledged
 * </pre>
 */
public class Consumers {
    private final PulsarClient client;
    private final Map<String, Consumer<byte[]>> joined = new HashMap<>();
    private final List<String> got = new ArrayList<>();

    Consumers(String url, String token) throws Exception {
        client = PulsarClient.builder().serviceUrl(url).authentication(AuthenticationFactory.token(token)).ioThreads(1)
                .listenerThreads(1).build();
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        Consumers consumers = new Consumers(args[0], Files.readString(Path.of(args[1])));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = consumers.answer(line.split("\t"));
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
            case "join":
                joined.put(words[1], joined(words));
                return "[]";
            case "leave":
                joined.remove(words[1]).close();
                return "[]";
            case "got":
                synchronized (got) {
                    String answer = got.toString();
                    got.clear();
                    return answer;
                }
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private Consumer<byte[]> joined(String[] words) throws PulsarClientException {
        boolean rejects = !words[5].equals("-");
        var builder = client.newConsumer().topic(words[2]).subscriptionName(words[3]).consumerName(words[1])
                .subscriptionType(SubscriptionType.valueOf(words[4])).acknowledgmentGroupTime(0, TimeUnit.MILLISECONDS)
                .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest)
                .messageListener((consumer, message) -> take(consumer, message, rejects));
        if (rejects) {
            builder.negativeAckRedeliveryDelay(200, TimeUnit.MILLISECONDS)
                    .deadLetterPolicy(DeadLetterPolicy.builder().maxRedeliverCount(Integer.parseInt(words[5])).build());
        }
        return builder.subscribe();
    }

    private void take(Consumer<byte[]> consumer, Message<byte[]> message, boolean rejects) {
        if (rejects) {
            consumer.negativeAcknowledge(message);
            return;
        }
        synchronized (got) {
            got.add("\"" + (char) message.getData()[0] + "\"");
        }
        consumer.acknowledgeAsync(message);
    }
}
