"""A dump of a compacted ledger against the log it was made of, for `pulsar-backlog compacted`. No Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pulsar_backlog.cluster.required_state import required_state
from pulsar_backlog.cluster.saved_cursors import COMPACTION
from pulsar_backlog.cluster.values import TopicState
from pulsar_backlog.errors import DecodeError, UsageError
from pulsar_backlog.ledgers.dumps import read_dump
from pulsar_backlog.ledgers.inventory import ClusterRecords, settle
from pulsar_backlog.ledgers.kinds import walk_unit
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.store import Source, open_source
from pulsar_backlog.ledgers.survey import survey
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import LedgerCopy
from pulsar_backlog.messages.compacting import Compared, Latest, compare
from pulsar_backlog.report.terminal.compacted import MAX_EXAMPLES, CompactedSummary, Example
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.compacted import decode_compacted

_LEDGER_IN_NAME = re.compile(r"(?:\A|\D)(\d{1,18})(?:\D*)\Z", re.ASCII)


def compare_view(
    source: str, endpoint: str | None, dump: Path, topic: str | None, admin: Path | None, show_values: bool
) -> CompactedSummary:
    """What a dumped compacted ledger holds per key, against the log in the source.

    Args:
        source: where the topic's ledgers lie.
        endpoint: of its service.
        dump: the compacted ledger.
        topic: full name, or None where the ledgers that the dump names tell.
        admin: folder of saved admin JSON, or None.
        show_values: whether keys are shown.

    Raises:
        UsageError: the dump holds nothing, or its topic is not in the source.
        SourceError: the log cannot be read.
    """
    view, faults, positions = _view(dump, show_values)
    if not positions:
        why = f": {faults[0]}" if faults else ""
        raise UsageError(f"{dump}: no entry of a compacted ledger can be read in it{why}")
    opened = open_source(source, endpoint)
    copies = _copies(opened)
    name = topic or _topic_of(positions, copies)
    mine = [copy for copy in copies if copy.topic == name and copy.selected]
    if not mine:
        raise UsageError(f"no ledger of {name} is in {source}: name the topic with --topic")
    state = required_state(admin, {}).topics.get(name) if admin else None
    horizon, sure = _horizon(state, positions)
    log, later = _log(opened, mine, horizon, sure, show_values)
    begins = (min(copy.ledger_id for copy in mine), 0)
    rows = list(compare(log, view, begins, None if sure else later))
    return CompactedSummary(
        topic=name,
        dump=str(dump),
        named=_named(state, dump),
        horizon=horizon,
        horizon_known=sure,
        log_entries=log.entries,
        view_entries=len(positions),
        counts=_counts(rows),
        examples=tuple(_examples(rows)),
        faults=tuple(faults),
        unreadable=len(log.unreadable) + len(view.unreadable),
        damaged=len(log.damaged) + len(view.damaged),
        gaps=_gaps(state, mine, horizon),
    )


def _view(dump: Path, with_keys: bool) -> tuple[Latest, list[str], list[Position]]:
    """The compacted ledger, what is wrong with its dump, and the positions in it."""
    view, faults, positions = Latest(with_keys), [], []
    for one in read_dump(dump):
        if one.entry is None:
            faults.append(f"the file is cut off or damaged at byte {one.offset}")
            break
        try:
            decoded = decode_compacted(one.entry)
        except DecodeError as error:
            faults.append(f"entry {one.entry_id} at byte {one.offset}: {error.code} at its byte {error.offset}")
            continue
        positions.append((decoded.ledger_id, decoded.entry_id))
        view.follow(positions[-1], decoded.entry)
    return view, faults, positions


def _copies(source: Source) -> list[LedgerCopy]:
    return settle(survey(source, take_listing(source)), ClusterRecords({}, {})).copies


def _topic_of(positions: list[Position], copies: list[LedgerCopy]) -> str:
    """The one topic of the ledgers that a compacted ledger names."""
    ledgers = {ledger_id for ledger_id, _ in positions}
    topics = {copy.topic for copy in copies if copy.ledger_id in ledgers and copy.topic is not None}
    if len(topics) != 1:
        what = "no topic" if not topics else f"{len(topics)} topics"
        raise UsageError(f"the ledgers that the compacted ledger names are of {what} here: name the topic with --topic")
    return topics.pop()


def _horizon(state: TopicState | None, positions: list[Position]) -> tuple[Position, bool]:
    """Up to where the log was compacted, and whether metadata say so: else as far as the view reaches at least."""
    marks = [one.mark_delete for one in state.cursors if one.name == COMPACTION] if state else []
    horizons = [mark for mark in marks if mark is not None and mark >= max(positions)]
    return (max(horizons), True) if horizons else (max(positions), False)


def _log(
    source: Source, copies: list[LedgerCopy], horizon: Position, sure: bool, with_keys: bool
) -> tuple[Latest, Latest]:
    """The log up to the horizon, and what follows it where the horizon is not sure."""
    log, later = Latest(with_keys), Latest()
    for copy in sorted(copies, key=lambda one: one.ledger_id):
        if sure and copy.ledger_id > horizon[0]:
            break
        for position, data in _entries(source, copy):
            (log if position <= horizon else later).follow(position, data)
    return log, later


def _entries(source: Source, copy: LedgerCopy) -> Iterator[tuple[Position, bytes]]:
    for batch in (batch for unit in units_of(copy) for batch in walk_unit(source, unit)):
        places = zip(batch.entry_id.tolist(), batch.offset.tolist(), batch.length.tolist(), strict=True)
        for entry_id, at, size in places:
            yield (copy.ledger_id, entry_id), batch.buffer[at : at + size].tobytes()


def _named(state: TopicState | None, dump: Path) -> bool | None:
    """Whether the cursor of compaction names the ledger whose id the dump's name ends with; None where nothing says."""
    match = _LEDGER_IN_NAME.search(dump.name.split(".")[0])
    if state is None or state.compacted_ledger_id is None or match is None:
        return None
    return state.compacted_ledger_id == int(match[1])


def _gaps(state: TopicState | None, copies: list[LedgerCopy], horizon: Position) -> int | None:
    """Ledgers of the log up to the horizon that are not in the source; None where no metadata say."""
    if state is None:
        return None
    stored = {copy.ledger_id for copy in copies}
    return sum(one.ledger_id not in stored and one.ledger_id <= horizon[0] for one in state.ledgers)


def _counts(rows: list[Compared]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in rows:
        counts[one.kind] = counts.get(one.kind, 0) + 1
    return counts


def _examples(rows: list[Compared]) -> Iterator[Example]:
    shown: dict[str, int] = {}
    for one in rows:
        shown[one.kind] = shown.get(one.kind, 0) + 1
        if one.kind == "agrees" or shown[one.kind] > MAX_EXAMPLES:
            continue
        spot = one.in_log or one.in_view
        yield Example(
            one.kind,
            spot.key if spot else None,
            one.in_log.position if one.in_log else one.deleted_at,
            one.in_view.position if one.in_view else None,
            max(spot.num_chunks for spot in (one.in_log, one.in_view) if spot),
        )
