"""One play: a setting, a seed, and what comes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from pulsar_backlog.chunks.clients.events import LogEntry
from pulsar_backlog.chunks.dispatch.auditor import Auditor
from pulsar_backlog.chunks.dispatch.broker_consumer import BrokerConsumer
from pulsar_backlog.chunks.dispatch.clock import Clock
from pulsar_backlog.chunks.dispatch.connection import Message
from pulsar_backlog.chunks.dispatch.cursor import Topic
from pulsar_backlog.chunks.dispatch.dispatcher import Dispatcher
from pulsar_backlog.chunks.dispatch.hashing import sticky_hash
from pulsar_backlog.chunks.dispatch.key_shared import KeySharedDispatcher
from pulsar_backlog.chunks.dispatch.outcomes import Outcome
from pulsar_backlog.chunks.dispatch.seat import Seat
from pulsar_backlog.chunks.dispatch.settings import READ_BATCHES, ConsumerSettings, Setting, Slice
from pulsar_backlog.chunks.dispatch.shared import SharedDispatcher
from pulsar_backlog.chunks.dispatch.single_active import SingleActiveDispatcher

SLICE_BYTES = 120
RECONNECT_MS = 110
"""How soon a client is back."""
TOPIC_LOAD_MS = (140.0, 250.0)
"""How long a broker takes to load a topic again; clients are back earlier and wait, and are all let in at once."""
PRODUCER_GAPS_MS = (0.3, 6.0)
"""Most between two entries of producers: of a quick and a slow one."""
OLD_MS = -86_400_000
"""When entries were published that are stored before a play: longer ago than any client waits for a chunk."""
MAX_MESSAGE_BYTES = 65_536
"""What a dead-letter producer may send at once."""


class Play:
    """The world of one play.

    Attributes:
        setting: what is played.
        clock, topic, auditor, dispatcher: its parts.
        delivered: how often each message was delivered.
    """

    def __init__(self, setting: Setting, seed: int) -> None:
        self.setting = setting
        self.clock = Clock(seed)
        self.topic = Topic(setting.read_batch or READ_BATCHES[setting.broker])
        self.auditor = Auditor()
        self.delivered: Counter[str] = Counter()
        self.other_topics: dict[str, list[tuple[str, int | None, int | None]]] = {}
        self._single = setting.dispatch in ("Exclusive", "Failover")
        self._active = next((step.what[0] for step in setting.steps if step.verb == "active"), "")
        self.dispatcher: Dispatcher = self._new_dispatcher()
        self._seats: dict[str, Seat] = {}
        self._published: dict[str, int] = {}
        self._times: dict[int, float] = {}

    def _new_dispatcher(self) -> Dispatcher:
        setting = self.setting
        if setting.dispatch == "Shared":
            return SharedDispatcher(self.topic, self.clock, self.auditor, setting.broker)
        if setting.dispatch == "Key_Shared":
            return KeySharedDispatcher(self.topic, self.clock, self.auditor)
        return SingleActiveDispatcher(self.topic, self.clock, self.auditor, name=setting.topic, preferred=self._active)

    def run(self) -> Outcome:
        """All steps.

        Raises:
            ValueError: there is no model of a step.
        """
        for step in self.setting.steps:
            do = getattr(self, f"_do_{step.verb}", None)
            if do is None:
                raise ValueError(f"no model of the step {step.verb!r}")
            do(*step.what)
        if self.dispatcher.consumers:  # with none, all is read again when one comes
            self.auditor.settled(range(self.topic.read_position), self.dispatcher.waiting())
        return Outcome(
            tuple(sorted(self.delivered.items())),
            self.topic.mark_delete,
            self.topic.deleted_ranges(),
            self.topic.backlog,
            tuple((topic, tuple(sorted(entries, key=str))) for topic, entries in sorted(self.other_topics.items())),
        )

    # what clients and producers do to the topic

    def acknowledge(self, consumer: BrokerConsumer, batch: tuple[int, ...], *, cumulative: bool) -> None:
        """Acknowledgements arrive."""
        if cumulative:
            last = batch[0]
            self.topic.acknowledge_through(last)
            self.auditor.moved(self.topic.mark_delete)
            batch = tuple(range(last + 1))
        else:
            self.auditor.acknowledged(consumer.name, batch)
            for at in batch:
                self.topic.acknowledge(at)
        for at in batch:
            self.dispatcher.acknowledged(consumer, at)

    def received(self, message: Message) -> None:
        """An application took a message."""
        if not message.is_slice:
            self.delivered[message.label] += 1

    def publish_elsewhere(self, topic: str, message: Message, settings: ConsumerSettings) -> bool:
        """A dead letter or a retry."""
        size = self.setting.sizes.get(message.label, 0)
        stored = self.other_topics.setdefault(topic, [])
        if size > MAX_MESSAGE_BYTES and settings.client.family == "go":
            if not settings.dead_letter_chunking:
                if not stored:
                    del self.other_topics[topic]
                return False
            stored.append((message.label, None, None))
        elif size > MAX_MESSAGE_BYTES:
            chunks = -(-size // (MAX_MESSAGE_BYTES - 300))
            stored.extend((message.label, chunk, chunks) for chunk in range(chunks))
        else:
            stored.append((message.label, None, None))
        return True

    def deliver_retry(self, message: Message, delay_ms: float) -> None:
        """A message of the retry topic comes to one of its consumers after its delay."""

        def arrive() -> None:
            alive = [seat for seat in self._seats.values() if seat.process.alive and seat.process.connected]
            if alive:
                self.clock.random.choice(alive).process.take_retry(message)

        self.clock.after(delay_ms + self.clock.delay_ms(), arrive)

    def _store(self, slice_: Slice, published_ms: int | None = None) -> None:
        at = len(self.topic.entries)
        now_ms = int(self.clock.now_ms) if published_ms is None else published_ms
        time = self._published.setdefault(slice_.label, now_ms)
        uuid = "" if slice_.chunk_id is None else slice_.label
        total = SLICE_BYTES * slice_.num_chunks
        chunks = None if slice_.chunk_id is None else slice_.num_chunks
        self.topic.entries.append(
            LogEntry(
                (0, at), 0, uuid, (uuid, time), time, slice_.chunk_id, chunks, total, SLICE_BYTES,
                batched=False, checksum="valid", codec=None, uncompressed_bytes=None, payload="fits", marker=False,
            )
        )  # fmt: skip
        self.topic.labels.append(slice_.label)
        self.topic.hashes.append(sticky_hash(self.setting.keys.get(slice_.label) or f"p{slice_.label}-0"))
        self._times[at] = self.clock.now_ms
        self.clock.last_frame_ms = self.clock.now_ms
        self.dispatcher.stored()

    # steps

    def _do_publish(self, *slices: Slice) -> None:
        for slice_ in slices:
            self.clock.run_for(self.clock.random.uniform(2.0, 14.0))
            self._store(slice_)
        self.clock.run_for(self.clock.delay_ms(1.0))

    def _do_stored(self, *slices: Slice) -> None:
        for slice_ in slices:
            self._store(slice_, OLD_MS)

    def _do_produce(self, *producers: Sequence[Slice]) -> None:
        queues, random = [list(slices) for slices in producers], self.clock.random
        while any(queues):
            queue = random.choice([queue for queue in queues if queue])
            most = random.choice((1, min(4, len(queue)), len(queue)))  # in turns, or one producer's whole pipeline
            for _ in range(random.randint(1, most)):
                self.clock.run_for(random.uniform(0.02, random.choice(PRODUCER_GAPS_MS)))
                self._store(queue.pop(0))

    def _do_start(self, name: str) -> None:
        seat = self._seats[name] = Seat(self, name, self.setting.consumers[name], single=self._single)
        self.clock.run_for(self.clock.random.uniform(2, 20))
        seat.connect()
        while not seat.ready:
            self.clock.run_for(1)
        self.clock.run_for(self.clock.random.uniform(1, 20))

    def _do_close(self, name: str) -> None:
        seat = self._seats[name]
        seat.process.flush()
        self.clock.run_for(20)
        seat.leave()
        seat.process.close()
        self.clock.run_for(self.clock.delay_ms(4.0))

    def _do_kill(self, name: str) -> None:
        self._seats[name].leave()
        self._seats[name].process.close()
        self.clock.run_for(self.clock.delay_ms(4.0))

    def _do_cut(self, name: str) -> None:
        seat = self._seats[name]
        seat.leave()
        self.clock.after(RECONNECT_MS * self.clock.random.uniform(0.9, 1.6), seat.connect)

    def _do_go(self, name: str) -> None:
        self._seats[name].process.go()

    def _do_policy(self, name: str, policy: dict[str, Any]) -> None:
        self._seats[name].process.policy = policy

    def _do_active(self, name: str) -> None:
        """See `SingleActiveDispatcher.preferred`."""

    def _do_unload(self) -> None:
        self._disconnect_all()
        self.dispatcher = self._new_dispatcher()
        self.clock.run_for(self.clock.delay_ms(4.0))

    def _disconnect_all(self, *, same_connection: bool = False) -> None:
        """The broker closes all consumers; clients come back, each when it can."""
        loaded = self.clock.random.uniform(*TOPIC_LOAD_MS)
        seats = list(self._seats.values())
        self.clock.random.shuffle(seats)
        for seat in seats:
            if seat.process.alive:
                seat.process.connected = False
                consumer = seat.consumer
                if same_connection and consumer is not None:
                    self.dispatcher.remove(consumer)
                else:
                    seat.cut_off()
                back = seat.subscribe if same_connection else partial(seat.connect, at_once=True)
                self.clock.after(loaded, back)
        if not same_connection:
            self.dispatcher.close()

    def _do_idle(self, quiet_ms: float, most_s: float = 60) -> None:
        self.clock.run_until_quiet(quiet_ms, most_s * 1000)

    def _do_wait(self, ms: float) -> None:
        self.clock.run_for(ms)

    def _do_begin(self) -> None:
        self.topic.acknowledge_through(len(self.topic.entries) - 1)
        self.auditor.moved(self.topic.mark_delete)

    def _do_skip(self, count: int) -> None:
        self.topic.skip(count)
        self.auditor.moved(self.topic.mark_delete)

    def _do_expire(self, seconds: float) -> None:
        oldest = self.clock.now_ms - seconds * 1000
        last = -1
        for at in range(len(self.topic.entries)):
            if self.topic.entries[at].publish_time_ms >= oldest:
                break
            last = at
        self.topic.acknowledge_through(last)
        self.auditor.moved(self.topic.mark_delete)

    def _do_reset(self, at: int) -> None:
        at = min(at, len(self.topic.entries))
        self.topic.reset(at)
        self.auditor.moved(at - 1)
        self._disconnect_all(same_connection=True)
        self.topic.reset(at)
        self.auditor.rewound(at)


def play(setting: Setting, seed: int) -> Outcome:
    """The outcome of a setting under one seed."""
    return Play(setting, seed).run()
