"""Cursors in admin JSON, and what `stats` says of subscriptions.

    internalStats  cursors        by encoded name: markDeletePosition, readPosition, individuallyDeletedMessages (text
                                  of ranges), cursorLedger, cursorLedgerLastEntry. The broker's memory, newer
                                  than storage
    internal-info  cursors        by encoded name: markDelete, individualDeletedMessages, cursorsLedgerId. The metadata
                                  store, old while a cursor ledger is open
    stats          subscriptions  by plain name: type, consumers, isReplicated; no positions

Batch indexes stand in none of them. A range is `(lower..upper]`, lower exclusive.
Source: https://github.com/apache/pulsar/blob/492eb456/pulsar-client-admin-api/src/main/java/org/apache/pulsar/common/policies/data/ManagedLedgerInternalStats.java
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote_plus

from pulsar_backlog.cluster.fields import Fields, storable
from pulsar_backlog.cluster.saved_dispatch import SavedDispatch, dispatch_of_stats
from pulsar_backlog.terms import Position

COMPACTION = "__compaction"
"""The cursor of a topic's compaction."""
OWN_READER = "pulsar-backlog-reader-"
"""How names of this program's own readers begin, which may be connected while the state is saved; then ten digits."""

Range = tuple[int, int, int, int]

_POSITION = re.compile(r"(-1|\d{1,18}):(-1|\d{1,18})", re.ASCII)
_OWN_READER = re.compile(rf"{OWN_READER}[0-9a-f]{{10}}", re.ASCII)
_RANGE = re.compile(r"\((-1|\d{1,18}):(-1|\d{1,18})\.\.(-1|\d{1,18}):(-1|\d{1,18})\]", re.ASCII)


@dataclass(frozen=True)
class SavedCursor:
    """One cursor as one document shows it.

    Attributes:
        name: of the subscription, decoded.
        source: `stats_internal` or `info_internal`.
        file: relative to the folder.
        mark_delete: everything up to it is acknowledged; None where it is missing or not a position.
        ranges: `(lower ledger, lower entry, upper ledger, upper entry)`, lower exclusive.
        whole_text: whether all of the text of ranges was understood; what was not is not acknowledged.
        read_position: next entry to read; None when not said.
        cursor_ledger_id: open cursor ledger; None when there is none, or it is not said.
        cursor_ledger_entry_id: last entry the broker wrote to it; None when not said.
        saved_ms: not before this; None when nothing says.
        stored_state: of internal-info, whether the metadata store holds the whole state (no cursor ledger).
        compacted_ledger_id: of the cursor of compaction, the ledger of the compacted topic; None when there is none.
    """

    name: str
    source: Literal["stats_internal", "info_internal"]
    file: str
    mark_delete: Position | None
    ranges: tuple[Range, ...] = ()
    whole_text: bool = True
    read_position: Position | None = None
    cursor_ledger_id: int | None = None
    cursor_ledger_entry_id: int | None = None
    saved_ms: int | None = None
    stored_state: bool = False
    compacted_ledger_id: int | None = None


@dataclass(frozen=True)
class SavedSubscription:
    """What `stats` says of a subscription.

    Attributes:
        name: of the subscription.
        type: None when no consumer was connected.
        consumers: how many were connected; None when not said.
        replicated: None when not said.
        dispatch: counts of its dispatcher; None where an earlier version saved it.
        durable: whether it outlives its connection; a reader's does not. None when not said.
    """

    name: str
    type: str | None
    consumers: int | None = None
    replicated: bool | None = None
    dispatch: SavedDispatch | None = None
    durable: bool | None = None


def cursors_of_internal_stats(
    members: Iterable[tuple[str, Fields]], file: str, saved_ms: int | None
) -> tuple[SavedCursor, ...]:
    """The cursors of an internalStats, given the members of its `cursors`."""
    others = ((name, cursor) for name, cursor in members if not _OWN_READER.fullmatch(name))
    return tuple(_of_internal_stats(name, cursor, file, saved_ms) for name, cursor in others)


def _of_internal_stats(name: str, cursor: Fields, file: str, saved_ms: int | None) -> SavedCursor:
    ranges, whole = ranges_of_text(cursor.text("individuallyDeletedMessages") or "[]")
    if not whole:
        cursor.fault("individuallyDeletedMessages")
    ledger_id = cursor.signed("cursorLedger")
    open_ledger = ledger_id is not None and ledger_id >= 0
    last = cursor.signed("cursorLedgerLastEntry")
    return SavedCursor(
        name=decoded_name(name),
        source="stats_internal",
        file=file,
        mark_delete=_position(cursor, "markDeletePosition"),
        ranges=ranges,
        whole_text=whole,
        read_position=_position(cursor, "readPosition"),
        cursor_ledger_id=ledger_id if open_ledger else None,
        cursor_ledger_entry_id=last if open_ledger else None,
        saved_ms=saved_ms,
        compacted_ledger_id=_compacted_ledger(name, cursor),
    )


def cursors_of_internal_info(body: Fields, file: str) -> tuple[SavedCursor, ...]:
    """The cursors of an internal-info."""
    return tuple(_of_internal_info(name, cursor, file) for name, cursor in body.members("cursors"))


def _of_internal_info(name: str, cursor: Fields, file: str) -> SavedCursor:
    ledger_id = cursor.signed("cursorsLedgerId")
    ranges = []
    whole = True
    for one in cursor.children("individualDeletedMessages"):
        lower, upper = _nested(one.child("from")), _nested(one.child("to"))
        if lower is None or upper is None:
            whole = False
        else:
            ranges.append((*lower, *upper))
    return SavedCursor(
        name=decoded_name(name),
        source="info_internal",
        file=file,
        mark_delete=_nested(cursor.child("markDelete")),
        ranges=tuple(ranges),
        whole_text=whole,
        cursor_ledger_id=ledger_id if ledger_id is not None and ledger_id >= 0 else None,
        saved_ms=cursor.time_ms("modificationDate"),
        stored_state=ledger_id == -1,
        compacted_ledger_id=_compacted_ledger(name, cursor),
    )


def _compacted_ledger(name: str, cursor: Fields) -> int | None:
    properties = cursor.child("properties") if name == COMPACTION else None
    return (properties.integer("CompactedTopicLedger") or None) if properties else None


def subscriptions_of_stats(body: Fields) -> Iterator[SavedSubscription]:
    """The subscriptions of a stats; their names are not encoded there."""
    for name, subscription in body.members("subscriptions"):
        durable = subscription.flag("isDurable")
        if durable is False and _OWN_READER.fullmatch(name):
            continue
        type_ = subscription.text("type")
        yield SavedSubscription(
            name=storable(name),
            type=None if type_ == "None" else type_,
            consumers=subscription.count("consumers"),
            replicated=subscription.flag("isReplicated"),
            dispatch=dispatch_of_stats(subscription),
            durable=durable,
        )


def ranges_of_text(text: str) -> tuple[tuple[Range, ...], bool]:
    """Ranges in `[(12:3..12:5],(12:9..12:10]]`, and whether that is all the text says."""
    ranges = tuple(
        (int(m[1]), int(m[2]), int(m[3]), int(m[4]))
        for m in _RANGE.finditer(text)
        if m[0][0] == "(" and m[0][-1] == "]"
    )
    rest = _RANGE.sub("", text)
    return ranges, text[:1] == "[" and text[-1:] == "]" and not rest[1:-1].strip(", ") and _RANGE.subn("", text)[
        1
    ] == len(ranges)


def decoded_name(name: str) -> str:
    """The subscription that a cursor's name, URL-encoded as by Java, stands for."""
    return storable(unquote_plus(name, errors="replace"))


def _position(body: Fields, name: str) -> Position | None:
    text = body.text(name)
    match = _POSITION.fullmatch(text) if text else None
    if match:
        return int(match[1]), int(match[2])
    body.fault(name)
    return None


def _nested(body: Fields | None) -> Position | None:
    if body is None:
        return None
    ledger_id, entry_id = body.signed("ledgerId"), body.signed("entryId")
    return None if ledger_id is None or entry_id is None else (ledger_id, entry_id)
