"""What is said of each message that two logs do not agree on: kind, side, sureness, reason.

    a message that only one side has                               what is said
    the other side holds it in part, or damaged                    `broken`; `in_flight` while its chunks arrive
    `replicate_to` does not name the other cluster                 `policy`
    the replicator's cursor stands before it                       `in_flight`
    both sides hold messages of its stream before and after it     `missing`; unsure where not all there could be read
    both hold none before it                                       `policy`: the other log begins later
    both hold none after it                                        `in_flight`; `missing` where the cursor passed it
    both hold none at all                                          `missing` or `policy`, and nobody can tell

A stream is what came to a topic from one cluster. A replicator passes it on in its order, so what was left out between
two that arrived is lost: whoever waits for it waits in vain (apache/pulsar#26113). At the ends nobody can be that sure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pulsar_backlog.replicas.halves import Bools, Cursor, Fault, Half, Int64s, near_doubts
from pulsar_backlog.replicas.matching import Matches, match
from pulsar_backlog.replicas.order import moved
from pulsar_backlog.terms import INCOMPLETE, Sureness

KINDS = ("missing", "duplicate", "order", "content", "broken", "policy", "in_flight")
WRONG = ("missing", "duplicate", "order", "content", "broken")
"""Kinds of differences that ought not to be."""
LOCAL = "__local__"
"""What `replicate_to` says of a message whose producer switched replication off (`disableReplication`)."""

Texts = npt.NDArray[np.object_]


@dataclass(frozen=True)
class Difference:
    """Messages of one kind and side: places in the rows of either half (-1 for none), sureness and reason of each."""

    kind: str
    side: str
    a: Int64s
    b: Int64s
    sureness: Texts
    reason: Texts

    def __len__(self) -> int:
        return len(self.a)


def judge(a: Half, b: Half) -> list[Difference]:
    """All differences of one topic."""
    matches = match(a.copies(), b.copies())
    differences = [*_duplicates(a, b, matches), _content(a, b, matches), _order(a, b, matches)]
    for at, (here, there) in enumerate(((a, b), (b, a))):
        differences += _absent(here, there, _Common.of(here, there, matches, at), matches.missing[at], at)
    return [one for one in differences if len(one)]


@dataclass(frozen=True)
class _Common:
    """What both sides have, as seen from `here`: numbers of pairs in both logs, ascending here, and their streams.

    What a repair appended stands where it does not belong, and says nothing of what lies beside it.
    """

    here: Int64s
    there: Int64s
    stream: Int64s

    @classmethod
    def of(cls, here: Half, there: Half, matches: Matches, at: int) -> _Common:
        pairs = [np.concatenate((matches.same[side], matches.content[side])) for side in (at, 1 - at)]
        halves = (here, there)
        in_turn = ~np.logical_or(*(half.of_repairs()[rows] for half, rows in zip(halves, pairs, strict=True)))
        pairs = [rows[in_turn] for rows in pairs]
        stream, _ = here.stream_numbers()
        order = np.argsort(pairs[0], kind="stable")
        return cls(
            here.numbers()[pairs[0][order]], there.numbers()[pairs[1][order]], stream[pairs[0][order]],
        )  # fmt: skip


def _duplicates(a: Half, b: Half, matches: Matches) -> list[Difference]:
    made = []
    for at, (here, there) in enumerate(((a, b), (b, a))):
        rows = matches.duplicate[at]
        other = _with_origin(there.column("origin"), here.column("origin")[rows])
        places = (rows, other) if at == 0 else (other, rows)
        reason = f"{here.name} stores it more often than {there.name}"
        made.append(Difference("duplicate", here.name, *places, *_by_verified(here, rows, reason)))
    return made


def _content(a: Half, b: Half, matches: Matches) -> Difference:
    reason = "same producer, sequence id and publish time, other payload, key or properties"
    sureness, reasons = _by_verified(a, matches.content[0], reason)
    other, _ = _by_verified(b, matches.content[1], reason)
    sureness = np.where(other == "likely", other, sureness)
    return Difference("content", "both", matches.content[0], matches.content[1], sureness, reasons)


def _order(a: Half, b: Half, matches: Matches) -> Difference:
    sides = zip((a, b), matches.same, strict=True)
    in_turn = np.flatnonzero(~np.logical_or(*(half.of_repairs()[rows] for half, rows in sides)))
    same = matches.same[0][in_turn], matches.same[1][in_turn]
    streams = [half.stream_numbers()[0][rows] for half, rows in zip((a, b), same, strict=True)]
    stream = streams[0] * (int(streams[1].max(initial=0)) + 1) + streams[1]
    rows = in_turn[np.flatnonzero(moved(stream, *same))]
    reason = "stands in another place among the messages that came from the same cluster"
    sureness, reasons = _all(len(rows), "certain", reason)
    return Difference("order", "both", matches.same[0][rows], matches.same[1][rows], sureness, reasons)


def _absent(here: Half, there: Half, common: _Common, rows: Int64s, at: int) -> list[Difference]:
    """What is said of messages that only `here` has."""
    if not len(rows):
        return []
    verdict = _Verdict(here, there, common, rows)
    made = []
    for kind in KINDS:
        chosen = np.flatnonzero(verdict.kind == kind)
        none = np.full(len(chosen), -1, dtype=np.int64)
        at_a, at_b = (rows[chosen], none) if at == 0 else (none, rows[chosen])
        made.append(Difference(kind, there.name, at_a, at_b, verdict.sureness[chosen], verdict.reason[chosen]))
    return made


class _Verdict:
    """Kind, sureness and reason of each row that only one side has; what is said first stays."""

    def __init__(self, here: Half, there: Half, common: _Common, rows: Int64s) -> None:
        self.kind, self.sureness, self.reason = (np.full(len(rows), "", dtype=object) for _ in range(3))
        self._here, self._there, self._rows = here, there, rows
        self._number = here.numbers()[rows]
        self._faults: dict[int, Fault] = {}
        self._broken()
        self._not_wanted()
        if there.messages == 0:
            self._say(self._open, "missing", "cannot_tell", self._no_topic())
        stream, names = here.stream_numbers()
        for number in np.unique(stream[rows]).tolist():
            self._stream(stream[rows] == number, names[number], common, common.stream == number)

    @property
    def _open(self) -> Bools:
        return np.asarray(self.kind == "")

    def _say(self, chosen: Bools, kind: str, sureness: Sureness, reason: str) -> None:
        chosen = chosen & self._open
        self.kind[chosen], self.sureness[chosen], self.reason[chosen] = kind, sureness, reason

    def _broken(self) -> None:
        if not self._there.broken:
            return
        origins = self._here.column("origin")[self._rows]
        for at in np.flatnonzero(np.isin(origins, list(self._there.broken))).tolist():
            fault = self._faults[at] = self._there.broken[int(origins[at])]
            self.kind[at] = "in_flight" if fault.state == "in_flight" else "broken"
            self.sureness[at], self.reason[at] = fault.sureness, fault.reason

    def _lacks_chunks(self, first: int, last: int, mine: Bools) -> None:
        """Where the log of the side is known from before a message to after it, chunks that it lacks are lost."""
        if self._there.doubts:
            return
        passed = last if self._here.cursor is None else min(last, self._here.cursor.acked + 1)
        passed_by = f"{self._there.name} holds messages of the same cluster before and after it, and not all chunks"
        for at, fault in self._faults.items():
            begin = None if fault.begin is None else self._here.places.number(fault.begin)
            is_within = begin is not None and first < begin <= self._number[at] < passed
            if mine[at] and is_within and fault.state in INCOMPLETE:
                self.sureness[at], self.reason[at] = "certain", f"{fault.reason}; {passed_by}"

    def _not_wanted(self) -> None:
        """Messages that were not to be replicated, or not there."""
        names = self._here.rows["replicate_to"].combine_chunks()
        if names.null_count == len(names):
            return
        there = self._there.cluster
        for at, text in enumerate(names.take(pa.array(self._rows)).to_pylist()):
            wanted = None if text is None else text.split(",")
            if wanted is None or there in wanted or self.kind[at]:
                continue
            sure = wanted == [LOCAL]
            self.kind[at], self.sureness[at] = "policy", "certain" if sure else "likely"
            self.reason[at] = "its producer did not want it replicated" if sure else f"to be replicated to {text} only"

    def _no_topic(self) -> str:
        there = self._there.name
        part = ", which looked at a part of the log only" if self._there.is_partial else ""
        return f"{there} holds nothing of this topic: not replicated, not stored where the audit looked{part}"

    def _stream(self, mine: Bools, name: str, common: _Common, pairs: Bools) -> None:
        """Judge rows of one stream by what both sides have of it."""
        here, there = self._here, self._there
        first, last = _ends(here, name, common.here[pairs])
        if here.cursor is not None and not name:
            self._by_cursor(mine, here.cursor)
        if first is None or last is None:
            self._say(
                mine,
                "policy",
                "cannot_tell",
                f"{there.name} holds nothing of what came this way: not replicated, or not yet",
            )
            return
        self._lacks_chunks(first, last, mine)
        before, after = mine & (self._number < first), mine & (self._number > last)
        self._head(before)
        self._tail(after)
        within = mine & ~before & ~after
        doubtful = np.zeros(len(mine), dtype=np.bool_)
        doubtful[within] = near_doubts(self._number[within], common.here[pairs], common.there[pairs], there.doubts)
        self._say(
            within & doubtful, "missing", "cannot_tell",
            f"{there.name} could not be read everywhere between the messages before and after it",
        )  # fmt: skip
        self._say(
            within,
            "missing",
            "certain",
            f"{there.name} holds messages of the same cluster before and after it, and not this one",
        )

    def _by_cursor(self, mine: Bools, cursor: Cursor) -> None:
        waits = mine & (self._number > cursor.touched)
        self._say(waits, "in_flight", "certain", f"the replicator {cursor.name} of {self._here.name} stood before it")
        between = mine & (self._number > cursor.acked) & (self._number <= cursor.touched)
        self._say(
            between,
            "in_flight",
            "likely",
            f"the replicator {cursor.name} of {self._here.name} stood before it, or had just sent it",
        )

    def _head(self, mine: Bools) -> None:
        there = self._there
        time = self._here.column("publish_time_ms")[self._rows]
        later = mine & (time < (there.first_ms or 0))
        why = "trimmed by retention or TTL, or replication began later"
        self._say(later, "policy", "likely", f"{there.name} begins later than it: {why}")
        self._say(mine, "policy", "cannot_tell", f"{there.name} holds nothing of the same cluster before it: {why}")

    def _tail(self, mine: Bools) -> None:
        here, there = self._here, self._there
        time = self._here.column("publish_time_ms")[self._rows]
        goes_on = mine & (time < (there.last_ms or 0))
        passed = (
            "the replicator has passed it on" if here.cursor is not None else f"{there.name} goes on after it was sent"
        )
        certain = here.cursor is not None
        gone = mine if certain else goes_on
        self._say(
            gone,
            "missing",
            "likely" if not there.doubts else "cannot_tell",
            f"{passed}, and {there.name} does not hold it",
        )
        self._say(mine, "in_flight", "cannot_tell", f"the log of {there.name} that was read ends before it")


def _ends(here: Half, stream: str, numbers: Int64s) -> tuple[int | None, int | None]:
    """Number of the first and the last message of a stream that both sides have."""
    ends = [int(number) for number in (numbers[:1].tolist() + numbers[-1:].tolist())]
    if stream in here.streams:
        ends += [here.places.number(position) for position in here.streams[stream]]
    return (min(ends), max(ends)) if ends else (None, None)


def _with_origin(origins: Int64s, wanted: Int64s) -> Int64s:
    """The first place of each wanted origin; -1 where there is none."""
    if not len(origins):
        return np.full(len(wanted), -1, dtype=np.int64)
    order = np.argsort(origins, kind="stable")
    at = np.minimum(np.searchsorted(origins[order], wanted), len(order) - 1)
    return np.where(origins[order][at] == wanted, order[at], -1)


def _by_verified(half: Half, rows: Int64s, reason: str) -> tuple[Texts, Texts]:
    verified = np.asarray(half.rows["verified"].combine_chunks().to_numpy(zero_copy_only=False), dtype=np.bool_)[rows]
    sureness, reasons = _all(len(rows), "certain", reason)
    sureness[~verified] = "likely"
    reasons[~verified] = f"{reason}; stored without a checksum, or not opened"
    return sureness, reasons


def _all(rows: int, sureness: Sureness, reason: str) -> tuple[Texts, Texts]:
    made: list[Any] = [np.full(rows, text, dtype=object) for text in (sureness, reason)]
    return made[0], made[1]
