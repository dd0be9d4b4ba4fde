"""Ledgers as the files of bookies have them: the extents of all files are the plan of a ledger's scan."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from pulsar_backlog.counting import counted
from pulsar_backlog.ledgers.bookies.extents import COLUMNS
from pulsar_backlog.ledgers.bookies.survey import LogFound
from pulsar_backlog.ledgers.copies import Examined, Pair, Problem
from pulsar_backlog.ledgers.stored_objects import StoredObject
from pulsar_backlog.ledgers.values import Block
from pulsar_backlog.wire.arrays import Int64s

COPY = "bookies"
"""What stands for the offload attempt's UUID."""


@dataclass(frozen=True)
class LedgerFound:
    """A ledger as the files have it: its copy, and the greatest last-confirmed entry that one of its entries names."""

    examined: Examined
    last_confirmed: int
    first_entry: int
    last_entry: int
    is_of_messages: bool


def ledgers_found(logs: list[LogFound], ledgers: Collection[int] | None = None) -> Iterator[LedgerFound]:
    """Each ledger of the files, in order of its id. Of journals only what no entry log has is kept."""
    parts = [np.column_stack((one.extents, np.full(len(one.extents), i))) for i, one in enumerate(logs)]
    extents = np.concatenate(parts) if parts else np.empty((0, len(COLUMNS) + 1), dtype=np.int64)
    extents = extents[np.lexsort((extents[:, 1], extents[:, -1], extents[:, 3], extents[:, 0]))]
    starts = np.flatnonzero(np.diff(extents[:, 0], prepend=-1))
    problems = _problems(logs)
    for rows in np.split(extents, starts[1:]) if len(extents) else ():
        ledger_id = int(rows[0, 0])
        if ledgers is None or ledger_id in ledgers:
            yield _ledger(ledger_id, rows, logs, tuple(problems.get(ledger_id, ())))


def _problems(logs: list[LogFound]) -> dict[int, list[Problem]]:
    """What files lack of ledgers, or have of them that is damaged, by ledger."""
    problems: dict[int, list[Problem]] = {}
    for one in logs:
        path = one.log.stored.path
        rows = one.extents[np.argsort(one.extents[:, 4])] if one.damaged else one.extents[:0]
        ends = dict(rows[:, (0, 4)].tolist())
        for ledger, bad in one.damaged.items():
            records = counted(bad.records, "record that no digest proves says", "records that no digest proves say")
            ids = f"entry {bad.first}" if bad.first == bad.last else f"entries {bad.first} to {bad.last}"
            message = f"In {path} {records} to be of this ledger, {ids}"
            if ledger in ends:
                message += f"; its entries that are proved end at entry {ends[ledger]}"
            problems.setdefault(ledger, []).append(Problem("S25", f"{message}.", path))
        for ledger, (stored, mapped) in one.short.items():
            message = f"{path} holds {stored} bytes of this ledger, its ledgers map says {mapped}."
            problems.setdefault(ledger, []).append(Problem("S25", message, path))
    return problems


def _ledger(ledger_id: int, rows: Int64s, logs: list[LogFound], problems: tuple[Problem, ...]) -> LedgerFound:
    is_journal = np.array([logs[number].log.role == "journal" for number in rows[:, -1].tolist()])
    if is_journal.any() and not is_journal.all():
        covered = _covered(rows[~is_journal], rows)
        rows = rows[~is_journal | ~covered]
    paths = {number: logs[number].log.stored for number in np.unique(rows[:, -1]).tolist()}
    blocks = tuple(
        Block(offset, length, first, count, uri=paths[number].path, last_entry_id=last)
        for _, offset, length, first, last, count, _, number in rows.tolist()
    )
    tags = "\0".join(f"{one.path}\0{one.size}\0{one.etag}" for one in paths.values())
    etag = hashlib.sha256(tags.encode(errors="surrogateescape")).hexdigest()[:32]
    stored = StoredObject(blocks[0].uri or "", sum(block.length for block in blocks), etag)
    looked = [one.messages[ledger_id] for one in logs if ledger_id in one.messages]
    is_of_messages = any(messages for messages, _ in looked) or not looked
    pair = Pair(ledger_id, COPY, stored, None, "bookies")
    examined = Examined(pair, blocks=blocks, problems=problems)
    return LedgerFound(examined, int(rows[:, 6].max()), int(rows[:, 3].min()), int(rows[:, 4].max()), is_of_messages)


def _covered(logs: Int64s, rows: Int64s) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which extents hold nothing but entries that extents of entry logs have without a gap."""
    dense = logs[logs[:, 5] == logs[:, 4] - logs[:, 3] + 1]
    if not len(dense):
        return np.zeros(len(rows), dtype=np.bool_)
    first, last = dense[:, 3], np.maximum.accumulate(dense[:, 4])
    begins = np.ones(len(dense), dtype=np.bool_)
    begins[1:] = first[1:] > last[:-1] + 1
    starts = first[begins]
    ends = last[np.append(np.flatnonzero(begins)[1:], len(dense)) - 1]
    at = np.searchsorted(starts, rows[:, 3], side="right") - 1
    covered: np.ndarray[tuple[int], np.dtype[np.bool_]] = (at >= 0) & (rows[:, 4] <= ends[np.maximum(at, 0)])
    return covered
