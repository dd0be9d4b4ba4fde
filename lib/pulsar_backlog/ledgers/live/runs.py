"""Messages that came together, cut into runs whose positions follow one another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pulsar_backlog.ledgers.live.values import Sent
from pulsar_backlog.protocol import frames
from pulsar_backlog.protocol.connection import Messages


@dataclass(frozen=True)
class Run:
    """Messages that came together and whose positions follow one another: from which one of those that came on."""

    at: int
    ledger_id: int
    first: int
    last: int

    def sent(self, got: Messages, first: int, last: int) -> Sent:
        """The entries of the run with these ids."""
        places = got.found[:, self.at + first - self.first : self.at + last + 1 - self.first]
        begin = int(places[frames.PLACE, 0])
        end = int(places[frames.PLACE, -1] + places[frames.LENGTH, -1])
        return Sent(first, got.buffer[begin:end], places[frames.PLACE] - begin, places[frames.LENGTH])


def runs_of(got: Messages) -> Iterator[Run]:
    """The runs of messages, in the order in which they came."""
    ledgers, entries = got.found[frames.LEDGER], got.found[frames.ENTRY]
    breaks = np.flatnonzero((np.diff(ledgers) != 0) | (np.diff(entries) != 1)) + 1
    starts, ends = [0, *breaks.tolist()], [*breaks.tolist(), len(entries)]
    for start, end in zip(starts, ends, strict=True):
        yield Run(start, int(ledgers[start]), int(entries[start]), int(entries[end - 1]))
