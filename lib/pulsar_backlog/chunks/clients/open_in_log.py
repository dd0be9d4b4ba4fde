"""How many chunked messages are open in a log at one time, whoever reads it."""

from __future__ import annotations

from collections.abc import Iterable

from pulsar_backlog.chunks.clients.events import NEVER, LogEntry, Publication
from pulsar_backlog.chunks.clients.whole_messages import WholeMessages

_PASSING: Publication = ("", NEVER)
"""No publication has this key."""


class OpenInLog:
    """Counts messages that have begun and not ended, had a client no limit.

    A message begins with its chunk 0, and ends with its last chunk or when nothing of it came for the expiry time, by
    the broker's clock: producers that died do not keep a message open for ever.

    Attributes:
        peak: most that were open at one time.
    """

    def __init__(self, expiry_ms: int) -> None:
        self._expiry_ms = expiry_ms
        self._newest_ms: dict[Publication, int] = {}  # in order of the newest chunk
        self.peak = 0

    def pass_all(self, entries: Iterable[LogEntry]) -> None:
        """The next chunk entries of the log."""
        newest_ms = self._newest_ms
        for entry in entries:
            chunk_id, num_chunks = entry.chunk_id, entry.num_chunks
            if chunk_id is None or num_chunks is None or num_chunks <= 1:
                continue
            key = entry.publication
            newest = newest_ms.pop(key, None)
            if chunk_id + 1 >= num_chunks:
                continue
            if newest is not None:
                newest_ms[key] = entry.stored_ms
            elif chunk_id == 0:
                self._begin(key, entry.stored_ms)

    def pass_whole(self, messages: WholeMessages) -> None:
        """Messages of which nothing is open, each with nothing else in between."""
        if not self._newest_ms:
            self.peak = max(self.peak, 1)
            return
        for begun_ms in messages.begun_ms:
            self._begin(_PASSING, begun_ms)
            del self._newest_ms[_PASSING]

    def _begin(self, key: Publication, now_ms: int) -> None:
        self._newest_ms[key] = now_ms
        while now_ms - self._newest_ms[oldest := next(iter(self._newest_ms))] > self._expiry_ms:
            del self._newest_ms[oldest]
        self.peak = max(self.peak, len(self._newest_ms))
