"""Consumers of Python and Java that act together on one subscription of a real broker, and logs made for them."""

from __future__ import annotations

import time
from collections import Counter

import pulsar
from pulsar import ConsumerType, InitialPosition

from pulsar_backlog.chunks.dispatch.forecast import StoredEntry
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata
from tests.broker.conftest import Admin
from tests.broker.publishing import chunks, message
from tests.java_programs import Program
from tests.several_consumers.releases import JAVA_CLIENT

TYPES = {"Shared": ConsumerType.Shared, "Key_Shared": ConsumerType.KeyShared}
LONGEST_S = 12
QUIET_S = 1.0
READY_S = 5
"""A consumer may get messages before its client knows that it has subscribed; until then the client calls it closed."""
AGE_MS = 120_000
"""Clients give up what is older than a minute, and a forecast is about entries that are."""

Entry = tuple[MessageMetadata, bytes]


def entries_of(tokens: str, size: int = 300) -> list[Entry]:
    """`A0/3` is chunk 0 of 3 of message A, `.B` a message that is no chunk; each with its name as its key.

    Args:
        tokens: separated by blanks, in order.
        size: bytes of each chunked message.
    """
    whole: dict[str, list[Entry]] = {}
    entries = []
    for number, token in enumerate(tokens.split()):
        if token.startswith("."):
            entry = message(100 + number, token[1:].encode())
        else:
            label, chunk, count = token[0], int(token[1]), int(token[3])
            if label not in whole:
                whole[label] = chunks(ord(label), label.encode() * size, count, range(count))
            entry = whole[label][chunk]
        entry[0].partition_key = token.lstrip(".")[0].encode()
        entry[0].publish_time -= AGE_MS
        entries.append(entry)
    return entries


def stored_entries(entries: list[Entry]) -> list[StoredEntry]:
    """The same for a forecast."""
    return [
        StoredEntry(m.uuid.decode(), m.chunk_id, m.num_chunks_from_msg, m.partition_key.decode())
        if m.num_chunks_from_msg
        else StoredEntry("", None, None, m.partition_key.decode())
        for m, _ in entries
    ]


def incomplete(entries: list[Entry]) -> int:
    """Chunks of messages whose last chunk is not stored."""
    ends = {m.uuid for m, _ in entries if m.num_chunks_from_msg and m.chunk_id == m.num_chunks_from_msg - 1}
    return sum(bool(m.num_chunks_from_msg) and m.uuid not in ends for m, _ in entries)


class Group:
    """Consumers of one subscription, each of which acknowledges what it gets.

    Attributes:
        got: messages by their first letter, and how often each came.
    """

    def __init__(self, client: pulsar.Client, java: Program, admin: Admin, topic: str, dispatch: str) -> None:
        self.got: Counter[str] = Counter()
        self._client = client
        self._java = java
        self._admin = admin
        self._topic = topic
        self._dispatch = dispatch
        self._connected: dict[str, str] = {}
        self._consumers: dict[str, pulsar.Consumer] = {}

    def join(self, name: str, kind: str = "python") -> None:
        """One more consumer, of a kind as forecasts call it; `java 4.2 rejects 2` is one, too."""
        if kind == "python":
            self._consumers[name] = self._client.subscribe(
                self._topic, "s", consumer_type=TYPES[self._dispatch], consumer_name=name, message_listener=self._take,
                initial_position=InitialPosition.Earliest,
            )  # fmt: skip
        else:
            rejects = kind.removeprefix(JAVA_CLIENT).removeprefix(" rejects ") or "-"
            self._java("join", name, self._topic, "s", self._dispatch, rejects)
        self._connected[name] = kind

    def leave(self, name: str) -> None:
        """A consumer closes."""
        del self._connected[name]
        if name in self._consumers:
            self._consumers.pop(name).close()
        else:
            self._java("leave", name)

    def close(self) -> None:
        """All close."""
        for name in list(self._connected):
            self.leave(name)

    def event(self, event: str) -> None:
        """An event in the words of a forecast."""
        verb, _, who = event.partition(" ")
        if event == "unload":
            self._admin.request("PUT", f"/v2/persistent/{self._topic.removeprefix('persistent://')}/unload")
        elif event == "restart":
            before = dict(self._connected)
            self.close()
            for name, kind in before.items():
                self.join(f"new-{name}", kind)
        elif verb == "join":
            self.join(f"c{len(self._connected) + 1}", who)
        else:
            self.leave(who)

    def _take(self, consumer: pulsar.Consumer, received: pulsar.Message) -> None:
        self.got[received.data()[:1].decode()] += 1
        ends = time.monotonic() + READY_S
        while True:
            try:
                return consumer.acknowledge(received)
            except pulsar.AlreadyClosed:
                if time.monotonic() > ends:
                    raise
                time.sleep(0.05)

    def settled(self, quiet_s: float = QUIET_S) -> tuple[int, int]:
        """Messages that came, and the backlog, when neither changes any more."""
        seen, since, ends = (-1, -1), time.monotonic(), time.monotonic() + LONGEST_S
        while time.monotonic() < ends and time.monotonic() - since < quiet_s:
            self.got.update(self._java("got"))
            now = sum(self.got.values()), self.backlog()
            if now != seen:
                seen, since = now, time.monotonic()
            time.sleep(0.05)
        return seen

    def backlog(self) -> int:
        """Entries that are not acknowledged."""
        return int(self._admin.get(self._topic, "stats")["subscriptions"]["s"]["msgBacklog"])
