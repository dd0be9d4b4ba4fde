"""`C19` to `C21`, `C32`, `C40` to `C43`: what the log does to consumers, as the models of docs/clients.md predict it."""

from pulsar_backlog.findings.kinds import PULSAR, FindingKind

SQL_OUTCOMES = (
    "pulsar-backlog sql OUT \"SELECT * FROM consumer_outcomes WHERE topic = 'SUBJECT' AND outcome <> 'delivered'\""
)
SQL_FORECASTS = "pulsar-backlog sql OUT \"SELECT * FROM client_forecasts WHERE topic = 'SUBJECT'\""
_STOPS, _STOPS_MODEL = "{models}.", "{model}: {damage} at {place}, messages behind it: {blocked}"
"""Words of what breaks or stops a client, each model's own."""

KINDS = (
    FindingKind(
        "C19",
        "pending_overflow",
        "warning",
        "More chunked messages are open at one time than a client keeps (10 in Java, C++ and Python, 100 in Go): the client drops the oldest, though they are whole in the log.",
        "Many producers, or threads of one, send chunked messages at the same time; or unfinished messages pile up.",
        "Set maxPendingChunkedMessage of the consumers above the highest number in the message. A reconnect redelivers what the client dropped, unless auto-ack was on or too many are open again.",
        SQL_FORECASTS,
        f"{PULSAR}/issues/26688",
        counted="{count} chunked messages are open at one time: {models}.",
        counted_of_model="{model} keeps {limit}",
    ),
    FindingKind(
        "C20",
        "span_over_expiry",
        "warning",
        "Whole messages took longer from first to last chunk than clients wait (60 seconds by default): a live consumer may acknowledge their first chunks before their last ones come.",
        "A slow or throttled producer, or a producer that reconnected in mid-message.",
        "Set the expiry of incomplete chunks above the longest span in the message, on every consumer that can (Python cannot).",
        "pulsar-backlog sql OUT \"SELECT * FROM chunked_messages WHERE topic = 'SUBJECT' AND span_ms > 60000\"",
        f"{PULSAR}/issues/26676",
        counted="Chunked messages that took longer than {expiry_seconds} seconds to store: {count}, the longest {extent} milliseconds.",
    ),
    FindingKind(
        "C21",
        "client_divergence",
        "error",
        "Messages are whole in the log, but a client does not deliver them exactly once, and reports no error.",
        "Repeated, overlapping or out-of-order chunks, too many open messages, or a payload that does not decompress.",
        "Export the `rebuildable` ones before anyone acknowledges their entries; the table says which client loses which message.",
        SQL_OUTCOMES,
        f"{PULSAR}/pull/21101",
        counted="Whole chunked messages that a client does not deliver exactly once",
    ),
    FindingKind(
        "C32",
        "permit_leak_risk",
        "warning",
        "Each last chunk that completes no message costs a Java or Go consumer a permit; when half the receiver queue is lost it slows down, and then it gets nothing more.",
        "Messages without a first chunk, with a gap, or stored again after they were complete.",
        "Reconnect the consumer: that restores all permits. Raise receiverQueueSize until the cause is repaired.",
        SQL_FORECASTS,
        f"{PULSAR}/issues/26675",
        counted="Permits that a client keeps: {count} at most ({models}).",
        counted_of_model="{model} keeps {permits} of {queue}",
    ),
    FindingKind(
        "C40",
        "client_delivers_mixture",
        "error",
        "A client hands the application one message made of chunks of two, without an error, and acknowledges both.",
        "Two messages have one uuid: a producer with a fixed name was restarted without broker deduplication.",
        "Check what consumers did with these messages; the table lists the parts. Turn broker deduplication on, or let the client name its producer.",
        SQL_OUTCOMES,
        f"{PULSAR}/pull/7705",
        counted="Chunked messages that a client joins with another one and delivers",
    ),
    FindingKind(
        "C41",
        "client_loops",
        "error",
        "A Java consumer loses its connection at this entry, reconnects and receives it again, several times a second and for ever; nothing behind it is ever delivered.",
        "Counts or sizes that contradict the chunks, a batch count on a chunk, or a payload that does not decompress.",
        "Keep what an export holds of it and the stored objects, then acknowledge (skip) the entry; restarting the consumer does not help.",
        SQL_FORECASTS,
        f"{PULSAR}/issues/26395",
        counted=_STOPS,
        counted_of_model=_STOPS_MODEL,
    ),
    FindingKind(
        "C42",
        "client_dies",
        "error",
        "A consumer's process crashes or panics at this entry, and again after every restart; a query fails.",
        "Sizes or counts that contradict the chunks: C++ and Python write past a buffer, Go past a slice.",
        "Keep what an export holds of it and the stored objects, then acknowledge (skip) the entry; restarting the consumer does not help.",
        SQL_FORECASTS,
        f"{PULSAR}/issues/16796",
        counted=_STOPS,
        counted_of_model=_STOPS_MODEL,
    ),
    FindingKind(
        "C43",
        "subscription_blocked",
        "error",
        "A consumer gets nothing more from here on, though it is connected and healthy.",
        "On a Shared subscription: a chunk without its first chunk, which the broker tries to dispatch for ever. On others: permits that the client did not give back.",
        "Reconnecting releases some of the messages behind; skip the entries that the evidence names to be rid of them.",
        SQL_FORECASTS,
        f"{PULSAR}/blob/492eb456/pulsar-broker/src/main/java/org/apache/pulsar/broker/service/SharedConsumerAssignor.java",
        counted=_STOPS,
        counted_of_model=_STOPS_MODEL,
    ),
)
