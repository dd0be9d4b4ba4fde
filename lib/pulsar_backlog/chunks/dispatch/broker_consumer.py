"""A consumer as the broker sees it: permits, what it was sent, and a connection that may be gone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from pulsar_backlog.chunks.dispatch.auditor import Auditor
from pulsar_backlog.chunks.dispatch.clock import Link


class BrokerConsumer:
    """One consumer object; a client that comes back gets a new one.

    Attributes:
        name: consumer name.
        permits: entries it may still be sent.
        pending: entries it was sent and did not acknowledge.
        ranges: sticky hash ranges; empty for auto-split.
    """

    def __init__(
        self,
        name: str,
        link: Link,
        receive: Callable[[int, int], None],
        auditor: Auditor,
        ranges: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.name = name
        self.permits = 0
        self.pending: dict[int, None] = {}
        self.ranges = tuple(ranges)
        self._link = link
        self._receive = receive
        self._auditor = auditor

    def send(self, batch: Sequence[int], counts: dict[int, int]) -> None:
        """Entries with their redelivery counts. What is sent to one who is gone counts as sent and never arrives."""
        self.permits -= len(batch)
        for at in batch:
            self.pending[at] = None
            self._auditor.dispatched(at, connected=self._link.up, to=self)
            if self._link.up:
                self._link.send(partial(self._receive, at, counts.get(at, 0)))
