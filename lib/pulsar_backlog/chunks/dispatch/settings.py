"""What a play needs to know: the broker, the consumers, and the steps in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pulsar_backlog.chunks.clients.settings import DEFAULT_EXPIRY_MS, DEFAULT_QUEUE, ClientSettings, Profile

BrokerLine = Literal["4.0", "4.2", "5.0"]
READ_BATCHES: Mapping[BrokerLine, int] = {"4.0": 100, "4.2": 100, "5.0": 500}
"""Default of `dispatcherMaxReadBatchSize`. That of 5.0 is documented; its milestone 5.0.0-M1 has 100. What else differs
from 4.2 is known from sources alone, and not played."""
DispatchType = Literal["Exclusive", "Failover", "Shared", "Key_Shared"]

MAX_RECONSUME_TIMES = 16
"""Java's and Go's `maxRedeliverCount` where there is a retry topic and no dead-letter policy."""

DEFAULT_POLICY: Mapping[str, Any] = {"default": "ack"}


@dataclass(frozen=True)
class Client:
    """A client library of one release, as far as releases differ.

    Attributes:
        profile: its chunk buffer; None where it has none, and gives every chunk to the application as a message.
        family: `java`, `cpp`, `go` or `rust`.
        nack_all: whether a negative acknowledgement on Shared asks for all chunks, and not only for the last.
        has_ack_timeout: whether it has an ack timeout at all.
        timeout_all: whether the ack timeout asks for all chunks.
        serialized_ack: which chunks an id acknowledges that was serialised and read again.
    """

    profile: Profile | None
    family: Literal["java", "cpp", "go", "rust"]
    nack_all: bool
    has_ack_timeout: bool
    timeout_all: bool
    serialized_ack: Literal["all", "ends", "last"]


CLIENTS: Mapping[str, Client] = {
    "java-4.0": Client("J-NEW", "java", nack_all=False, has_ack_timeout=True, timeout_all=True, serialized_ack="all"),
    "java-4.2": Client("J-NEW", "java", nack_all=True, has_ack_timeout=True, timeout_all=True, serialized_ack="all"),
    "python": Client("C-OLD", "cpp", nack_all=False, has_ack_timeout=True, timeout_all=False, serialized_ack="ends"),
    "go": Client("G-NEW", "go", nack_all=True, has_ack_timeout=False, timeout_all=False, serialized_ack="last"),
}
"""Releases that the recorded runs cover; `client_named` finds the nearest."""

RUST = Client(None, "rust", nack_all=False, has_ack_timeout=False, timeout_all=False, serialized_ack="last")
"""Recorded alone, and not among several."""
RUST_MAJOR = "6"
"""Releases of Rust's crate of which runs were recorded."""


def client_named(name: str) -> Client:
    """The client of a name such as `java-4.2.4`, `java 4.0`, `python-3.13.0` or `go`.

    Raises:
        ValueError: nothing is known of such a client.
    """
    family, _, version = name.strip().lower().replace(" ", "-").partition("-")
    if family == "rust":
        if version.split(".")[0] not in ("", RUST_MAJOR):
            raise ValueError(f"what {name!r} does cannot be told: runs of Rust {RUST_MAJOR} alone were recorded")
        return RUST
    if family in ("java", "websocket"):  # the WebSocket proxy has a Java client of its broker's release
        new = tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) >= (4, 2)
        return CLIENTS["java-4.2" if new else "java-4.0"]
    if family in ("python", "cpp", "c++", "node"):
        return CLIENTS["python"]
    if family == "go":
        return CLIENTS["go"]
    families = "java, websocket, python, cpp, node, go and rust, with a version"
    raise ValueError(f"no model of the client {name!r}; there are {families}")


@dataclass(frozen=True)
class ConsumerSettings:
    """One consumer.

    Attributes:
        client: its library.
        queue: receiver queue size.
        policy: what the application does with a message, by label; `default` for others.
        hold: whether it is subscribed and does not receive before a step `go`.
        max_pending, auto_ack, expiry_ms: see `ClientSettings`.
        nack_delay_ms: negative acknowledgements are sent after this.
        ack_timeout_ms: None is off.
        dead_letter_max: redeliveries before a message goes to the dead-letter topic; None is never.
        dead_letter_topic: its name in outcomes.
        retry_topic: name of its retry topic in outcomes.
        retries: whether it has a retry topic, whatever its application does.
        dead_letter_chunking: whether the dead-letter producer of Go cuts large messages.
        key_ranges: sticky hash ranges on Key_Shared; empty is auto-split.
    """

    client: Client
    queue: int = DEFAULT_QUEUE
    policy: Mapping[str, Any] = field(default_factory=lambda: DEFAULT_POLICY)
    hold: bool = False
    max_pending: int | None = None
    auto_ack: bool = False
    expiry_ms: int = DEFAULT_EXPIRY_MS
    nack_delay_ms: int = 60_000
    ack_timeout_ms: int | None = None
    dead_letter_max: int | None = None
    dead_letter_topic: str = "s-DLQ"
    retry_topic: str = "s-RETRY"
    retries: bool = False
    dead_letter_chunking: bool = False
    key_ranges: tuple[tuple[int, int], ...] = ()

    @property
    def acknowledges_chunks(self) -> bool:
        """Whether an acknowledgement of a chunked message reaches the broker: not in Go with a retry topic."""
        return self.client.family != "go" or not self.has_retry_topic

    @property
    def has_retry_topic(self) -> bool:
        """Whether it is a consumer of several topics, of which one is its retry topic."""
        return self.retries or any(str(rule).startswith("later") for rule in self.policy.values())

    @property
    def retries_allowed(self) -> int | None:
        """How often a message goes through the retry topic before it is a dead letter."""
        return MAX_RECONSUME_TIMES if self.dead_letter_max is None and self.has_retry_topic else self.dead_letter_max

    @property
    def buffer(self) -> ClientSettings | None:
        """Settings of its chunk buffer; None where it has none."""
        profile = self.client.profile
        return profile and ClientSettings(
            profile, max_pending=self.max_pending, auto_ack=self.auto_ack, expiry_ms=self.expiry_ms
        )


@dataclass(frozen=True)
class Slice:
    """One entry to publish.

    Attributes:
        label: its message.
        chunk_id: None for a plain message.
        num_chunks: 1 for a plain message.
    """

    label: str
    chunk_id: int | None
    num_chunks: int


@dataclass(frozen=True)
class Step:
    """One step: a verb and what it takes.

    `publish` slices; `stored` the same at once, long before anybody connects; `produce` lists of slices, one for each
    producer; `start`, `close`, `kill`, `cut`, `go` a consumer; `unload`; `idle` ms without a frame, at most s; `wait`
    ms; `skip` entries; `expire` seconds; `reset` to an entry; `policy` consumer and policy; `active` the consumer of a
    Failover subscription that is active; `begin`: the subscription is made now, behind what is stored.
    """

    verb: str
    what: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Setting:
    """All of it.

    Attributes:
        broker: release line.
        dispatch: subscription type.
        consumers: by name.
        steps: in order.
        keys: message key by label; a message without one has its producer and sequence id.
        sizes: bytes by label, where they matter.
        topic: its name, which decides who is active on Failover; empty when it is not known.
        read_batch: entries that one read takes at most; None is the release line's default.
    """

    broker: BrokerLine
    dispatch: DispatchType
    consumers: Mapping[str, ConsumerSettings]
    steps: tuple[Step, ...]
    keys: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    topic: str = ""
    read_batch: int | None = None

    @property
    def races_rarely(self) -> bool:
        """Whether rare timings decide: see what `SharedAssignor` of 4.0 does with permits where queues are small."""
        queues = [consumer.queue for consumer in self.consumers.values()]
        return self.broker == "4.0" and self.dispatch == "Shared" and len(queues) > 1 and 1 < min(queues) < 10
