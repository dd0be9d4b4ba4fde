"""How a broker dispatches chunks on a Shared subscription: all chunks of a uuid to one consumer.

A uuid is pinned to a consumer from its chunk 0 until its last chunk. A chunk that is not the first and has no pin gets
no consumer: it is put aside and tried again before anything new is read. While something waits that no pin comes for,
nothing new is read at all. A live consumer gets each entry as it comes; one that catches up gets batches, so that what
lies in the batch behind such a chunk still arrives.

Source: SharedConsumerAssignor and PersistentDispatcherMultipleConsumers of apache/pulsar, 4.0. Newer brokers
acknowledge a chunk without a pin themselves (`ClientSettings.acks_headless`).
"""

from __future__ import annotations

from pulsar_backlog.chunks.clients.events import LogEntry
from pulsar_backlog.chunks.clients.settings import DEFAULT_READ_BATCH, ClientSettings


class SharedDispatch:
    """The pins of one subscription with one consumer.

    Attributes:
        waiting: what was read and has no consumer, in order.
    """

    def __init__(self, settings: ClientSettings, *, catching_up: bool) -> None:
        self._pins: set[str] = set()
        batch = settings.read_batch or DEFAULT_READ_BATCH
        self._is_unknown = catching_up and settings.read_batch is None and settings.receiver_queue > batch
        self._batch_size = min(settings.receiver_queue, batch) if catching_up else 1
        self._in_batch = 0
        self.waiting: list[LogEntry] = []

    def admits(self, entry: LogEntry) -> bool:
        """Whether the entry has a consumer; sets and removes pins."""
        if not entry.uuid or entry.chunk_id is None or entry.num_chunks is None:
            return True
        if entry.chunk_id == 0:
            self._pins.add(entry.uuid)
        elif entry.uuid not in self._pins:
            return False
        if entry.chunk_id + 1 == entry.num_chunks:
            self._pins.discard(entry.uuid)
        return True

    def put_aside(self, entry: LogEntry) -> bool:
        """The entry has no consumer and waits; whether what is read behind it depends on a batch that nobody knows."""
        self.waiting.append(entry)
        return self._is_unknown

    def go_live(self) -> None:
        """From now on entries come one by one."""
        self._batch_size, self._in_batch = 1, 0

    def fill(self, entries: int) -> bool:
        """Count entries read; true where the batch ends with them."""
        self._in_batch += entries
        if self._in_batch < self._batch_size:
            return False
        self._in_batch = 0
        return True

    def retry(self) -> list[LogEntry]:
        """What waits and has a consumer by now; it waits no more."""
        admitted = [entry for entry in self.waiting if self.admits(entry)]
        chosen = {entry.position for entry in admitted}
        self.waiting = [entry for entry in self.waiting if entry.position not in chosen]
        return admitted
