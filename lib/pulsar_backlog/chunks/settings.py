"""Settings of clients and topic that suit what a log shows, each with its reason in numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pulsar_backlog.chunks.clients.settings import DEFAULT_EXPIRY_MS, DEFAULT_MAX_PENDING, DEFAULT_QUEUE

QUEUE_BYTES = 256 * 1024 * 1024
"""Memory that a consumer's queue of whole messages should not exceed."""
FRAME_PADDING_BYTES = 10 * 1024
"""What a frame may be larger than `maxMessageSize`: room for the header of a slice that fills the limit.
Source: apache/pulsar pulsar-common/.../protocol/Commands.java at 492eb456, `MESSAGE_SIZE_FRAME_PADDING`."""
SMALL_MESSAGE_BYTES = 10 * 1024
"""Messages up to here gain from batching."""


@dataclass(frozen=True, slots=True)
class TopicLoad:
    """What the log of one topic shows; named as the columns of `topic_stats`.

    Attributes:
        small_singles: small messages sent one by one by producers that also send chunks.
    """

    chunked_messages: int
    unusable_last_chunks: int
    max_chunks: int
    max_message_bytes: int
    max_span_ms: int
    peak_open_messages: int
    peak_open_bytes: int
    largest_header_bytes: int
    slice_bytes: int | None
    limit_bytes: int | None
    largest_entry_bytes: int
    small_singles: int


@dataclass(frozen=True, slots=True)
class Setting:
    """One recommendation: the setting by its Java name, its value, and why."""

    setting: str
    value: str
    reason: str


def recommend(load: TopicLoad) -> tuple[Setting, ...]:
    """The settings that suit the load; none without chunked messages."""
    if not load.chunked_messages:
        return ()
    return tuple(_consumer(load)) + tuple(_producer(load)) + tuple(_sizes(load))


def _consumer(load: TopicLoad) -> Iterator[Setting]:
    peak = load.peak_open_messages
    default = DEFAULT_MAX_PENDING["java"]
    pending = max(default, _with_room(peak))
    peak_words = f"up to {peak:,} unfinished at once ({load.peak_open_bytes:,} bytes)"
    of_go = DEFAULT_MAX_PENDING["go"]
    wanting = f"the default, {default}, drops some (Go: {of_go})" if peak > default else f"{default} is the default"
    yield Setting("maxPendingChunkedMessage", str(pending), f"{peak_words}; {wanting}")
    yield Setting("autoAckOldestChunkedMessageOnQueueFull", "false", "true acknowledges messages that nobody has read")
    expiry_ms = max(DEFAULT_EXPIRY_MS, -(-2 * load.max_span_ms // 10_000) * 10_000)
    yield Setting(
        "expireTimeOfIncompleteChunkedMessage", f"{expiry_ms} ms",
        f"the slowest whole message took {load.max_span_ms:,} ms; later its chunks are acknowledged unread",
    )  # fmt: skip
    yield _queue(load)


def _queue(load: TopicLoad) -> Setting:
    fitting = min(DEFAULT_QUEUE, max(QUEUE_BYTES // max(load.max_message_bytes, 1), 1))
    leaking = 2 * load.unusable_last_chunks + 2 if load.unusable_last_chunks else 0
    reason = f"messages of up to {load.max_message_bytes:,} bytes wait in it whole: so many keep within 256 MiB"
    if leaking > fitting:
        reason = (
            f"{load.unusable_last_chunks:,} last chunks without their message cost Java and Go a permit each; half the "
            "queue lost stalls the consumer"
        )
    return Setting("receiverQueueSize", str(max(fitting, leaking)), reason)


def _producer(load: TopicLoad) -> Iterator[Setting]:
    pending = max(DEFAULT_QUEUE, _with_room(load.max_chunks))
    yield Setting(
        "maxPendingMessages", str(pending),
        f"each chunk takes a place, {load.max_chunks:,} for one message; C++ and Go wait for ever if there are fewer",
    )  # fmt: skip
    if load.small_singles:
        yield Setting(
            "enableBatching", "true, on a second producer",
            f"a producer batches or cuts, not both: {load.small_singles:,} messages of up to 10 KB went out one by one",
        )  # fmt: skip


def _sizes(load: TopicLoad) -> Iterator[Setting]:
    header = f"the largest header of a chunk has {load.largest_header_bytes:,} bytes"
    share = f"{header} of the {FRAME_PADDING_BYTES:,} that a frame allows"
    if load.largest_header_bytes > FRAME_PADDING_BYTES:
        share += ": too many; put large properties into the payload"
    seen = f"{load.limit_bytes:,} bytes" if load.limit_bytes else "not to be seen in this log"
    cut = "" if load.slice_bytes is None else f"; slices have up to {load.slice_bytes:,}"
    yield Setting("chunkMaxMessageSize", _cut(load), f"{share}; maxMessageSize is {seen}{cut}")
    yield Setting(
        "maxMessageSize of the topic", f"unset, or at least {load.largest_entry_bytes}",
        "brokers before 2.10 refuse chunks above the topic's limit (PIP-131); later ones ask only the broker's",
    )  # fmt: skip


def _cut(load: TopicLoad) -> str:
    """Unset, unless the payload alone fills the limit or the header would not fit beside it."""
    tight = load.limit_bytes is not None and load.slice_bytes == load.limit_bytes
    if load.limit_bytes is None or not (tight or load.largest_header_bytes > FRAME_PADDING_BYTES):
        return "unset"
    return str(max(load.limit_bytes - load.largest_header_bytes, load.limit_bytes // 2))


def _with_room(count: int) -> int:
    """A quarter more, for what the log happens not to show."""
    return count + -(-count // 4)
