"""How many chunked messages are open in a log at one time, whoever reads it."""

from __future__ import annotations

from pulsar_backlog.chunks.clients.events import LogEntry


class OpenInLog:
    """Counts messages that have begun and not ended, had a client no limit.

    A message begins with its chunk 0, and ends with its last chunk or when nothing of it came for the expiry time, by
    the broker's clock: producers that died do not keep a message open for ever.

    Attributes:
        peak: most that were open at one time.
    """

    def __init__(self, expiry_ms: int) -> None:
        self._expiry_ms = expiry_ms
        self._newest_ms: dict[tuple[str, int], int] = {}  # in order of the newest chunk
        self.peak = 0

    def pass_entry(self, entry: LogEntry) -> None:
        """The next chunk entry of the log."""
        if entry.chunk_id is None or (entry.num_chunks or 0) <= 1:
            return
        key = entry.uuid, entry.publish_time_ms
        known = self._newest_ms.pop(key, None) is not None
        if entry.chunk_id + 1 >= (entry.num_chunks or 0) or not (known or entry.chunk_id == 0):
            return
        self._forget_old(entry.stored_ms)
        self._newest_ms[key] = entry.stored_ms
        self.peak = max(self.peak, len(self._newest_ms))

    def _forget_old(self, now_ms: int) -> None:
        while self._newest_ms:
            oldest = next(iter(self._newest_ms))
            if now_ms - self._newest_ms[oldest] <= self._expiry_ms:
                return
            del self._newest_ms[oldest]
