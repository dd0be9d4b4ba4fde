"""Admin JSON documents -> what each of them says, and of which topic.

| document | pulsar-admin topics | REST | known by |
|---|---|---|---|
| internalStats | stats-internal [-m] | .../internalStats | `ledgers`, `lastConfirmedEntry` |
| internal-info | info-internal | .../internal-info | `ledgers`, `cursors` |
| stats | stats | .../stats | `publishers`, `subscriptions` |

A partitioned topic has one of these per partition in the map `partitions`, under the partition's full name.
Only internalStats says whether an offload is complete: `isOffloaded` of internal-info is true for attempts that
failed or still go on as well. Only internal-info names the attempt's UUID.

pulsarctl saves the same documents (internal-stats, internal-info, stats) as Go writes its own structs: every field that
it knows is there, absent ones as 0, false or an empty text (an open ledger has 0 entries, a topic not terminated has
the position 0:0), and fields that it does not know, or spells otherwise (`modificationData`), are gone.

Source: https://github.com/apache/pulsar/blob/492eb456/pulsar-client-admin-api/src/main/java/org/apache/pulsar/common/policies/data/ManagedLedgerInternalStats.java
and https://github.com/apache/pulsar/blob/492eb456/managed-ledger/src/main/java/org/apache/bookkeeper/mledger/ManagedLedgerInfo.java
and https://github.com/apache/pulsar-client-go/blob/03bddae64a06/pulsaradmin/pkg/utils/data.go (pulsarctl's)
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pulsar_backlog.cluster.fields import Fields
from pulsar_backlog.cluster.saved_cursors import (
    SavedCursor,
    SavedSubscription,
    cursors_of_internal_info,
    cursors_of_internal_stats,
    subscriptions_of_stats,
)
from pulsar_backlog.wire.names import managed_ledger_of_topic, topic_of_managed_ledger

Kind = Literal["internalStats", "internal-info", "stats"]

_POSITION = re.compile(r"(\d{1,18}):(-1|\d{1,18})", re.ASCII)
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_MANAGED_LEDGER = re.compile(r"pulsar/managed-ledger=base64:([A-Za-z0-9+/]+=*)")


@dataclass(frozen=True)
class SavedLedger:
    """One element of `ledgers`. Attributes as in `LedgerRecord`; None also when the document does not say."""

    ledger_id: int
    uuid: str | None = None
    complete: bool | None = None
    entries: int | None = None
    size_bytes: int | None = None
    closed_time_ms: int | None = None


@dataclass(frozen=True)
class Document:
    """What one document says about one topic.

    Attributes:
        kind: which document it is.
        topic: named by the document itself; None when it names none.
        offloaded_ledger_id: a ledger of the topic that `stats` mentions; its only trace of a ledger.
        cursors: as this document shows them.
        compacted_ledger_id: ledger of the compacted topic; None when there is none.
        terminated_at: last entry of a terminated topic, as (ledger id, entry id), entry id -1 where it has none.

    The others are as in `TopicState`; None also when the document does not say.
    """

    kind: Kind
    topic: str | None
    ledgers: tuple[SavedLedger, ...] = ()
    last_confirmed: tuple[int, int] | None = None
    last_ledger_created_ms: int | None = None
    known_until_ms: int | None = None
    publishers: int | None = None
    subscriptions: Mapping[str, SavedSubscription] | None = None
    state: str | None = None
    terminated: bool | None = None
    terminated_at: tuple[int, int] | None = None
    deduplicated: bool | None = None
    offloaded_ledger_id: int | None = None
    cursors: tuple[SavedCursor, ...] = ()
    compacted_ledger_id: int | None = None
    open_bytes: int | None = None
    names_all_ledgers: bool = True


def documents(file: Fields, path: str = "") -> Iterator[Document]:
    """The documents of one file; none when it is of another kind."""
    if not file.has("partitions"):
        yield from _document(file, None, path)
        return
    for name, partition in file.members("partitions"):
        if is_topic(name):
            yield from _document(partition, name, path)
        else:
            file.fault(f"partitions.{name}")


def _document(body: Fields, topic: str | None, path: str) -> Iterator[Document]:
    if body.has("ledgers", "lastConfirmedEntry"):
        yield _internal_stats(body, topic, path)
    elif body.has("ledgers", "cursors"):
        yield _internal_info(body, topic, path)
    elif body.has("publishers", "subscriptions"):
        yield _stats(body, topic)


def _internal_stats(body: Fields, topic: str | None, path: str) -> Document:
    ledgers = []
    for ledger in body.children("ledgers"):
        topic = topic or _topic_in_metadata(ledger)
        ledger_id = _ledger_id(ledger)
        if ledger_id is not None:
            ledgers.append(_ledger_of_stats(ledger_id, ledger))
    created_ms = body.time_ms("lastLedgerCreatedTimestamp")
    cursors = list(body.members("cursors"))
    switched_ms = [cursor.time_ms("lastLedgerSwitchTimestamp") for _, cursor in cursors]
    state = body.text("state")
    known_until_ms = max((t for t in [created_ms, *switched_ms] if t is not None), default=None)
    saved = cursors_of_internal_stats(cursors, path, known_until_ms)
    compacted = body.child("compactedLedger")
    compacted_id = compacted.signed("ledgerId") if compacted else None
    return Document(
        kind="internalStats",
        topic=topic,
        ledgers=tuple(ledgers),
        names_all_ledgers=len(ledgers) == body.count("ledgers"),
        last_confirmed=_position(body, "lastConfirmedEntry"),
        last_ledger_created_ms=created_ms,
        known_until_ms=known_until_ms,
        state=state,
        terminated=None if state is None else state == "Terminated",
        terminated_at=_position(body, "lastConfirmedEntry") if state == "Terminated" else None,
        cursors=saved,
        # -1 where there is none; pulsarctl writes 0 for what the broker did not say.
        open_bytes=body.integer("currentLedgerSize"),
        compacted_ledger_id=compacted_id if compacted_id is not None and compacted_id > 0 else _compacted(saved),
    )


def _ledger_of_stats(ledger_id: int, ledger: Fields) -> SavedLedger:
    # A closed ledger without entries is removed at once, so 0 means that it is still open.
    entries = ledger.integer("entries") or None
    size_bytes = ledger.integer("size") if entries else None
    return SavedLedger(ledger_id, complete=ledger.flag("offloaded"), entries=entries, size_bytes=size_bytes)


def _internal_info(body: Fields, topic: str | None, path: str) -> Document:
    ledgers = []
    cursors = cursors_of_internal_info(body, path)
    end = body.child("terminatedPosition")
    terminated = _is_terminated(end)
    for ledger in body.children("ledgers"):
        ledger_id = _ledger_id(ledger)
        if ledger_id is None:
            continue
        # Null while it is open; pulsarctl writes 0.
        entries = ledger.integer("entries") or None
        ledgers.append(
            SavedLedger(
                ledger_id,
                uuid=_uuid(ledger),
                # True only says that there is an offload context, be it complete or not.
                complete=False if ledger.flag("isOffloaded") is False else None,
                entries=entries,
                size_bytes=ledger.integer("size") if entries else None,
                # An open ledger carries the time of its creation.
                closed_time_ms=(ledger.integer("timestamp") or None) if entries is not None else None,
            )
        )
    return Document(
        kind="internal-info",
        topic=topic,
        ledgers=tuple(ledgers),
        names_all_ledgers=len(ledgers) == body.count("ledgers"),
        known_until_ms=body.time_ms("modificationDate"),
        terminated=terminated,
        terminated_at=_end(end) if terminated else None,
        cursors=cursors,
        compacted_ledger_id=_compacted(cursors),
    )


def _compacted(cursors: Iterable[SavedCursor]) -> int | None:
    """The compacted ledger that the cursor of compaction names."""
    return next((one.compacted_ledger_id for one in cursors if one.compacted_ledger_id), None)


def _stats(body: Fields, topic: str | None) -> Document:
    deduplication = body.text("deduplicationStatus")
    return Document(
        kind="stats",
        topic=topic,
        publishers=body.count("publishers"),
        subscriptions={one.name: one for one in subscriptions_of_stats(body)},
        # Enabled, Disabled, or on the way to one of them, as Initialized and Recovering are.
        deduplicated=None if deduplication is None else deduplication == "Enabled",
        offloaded_ledger_id=body.integer("lastOffloadLedgerId") or None,  # 0 where nothing was ever offloaded
    )


def _is_terminated(position: Fields | None) -> bool | None:
    """Whether the topic is terminated there; None at 0:0, which is all that pulsarctl has for topics that are not."""
    if position is None:
        return False
    return None if position.integer("ledgerId") == 0 and position.integer("entryId") == 0 else True


def _end(position: Fields | None) -> tuple[int, int] | None:
    ledger_id = position.integer("ledgerId") if position else None
    entry_id = position.signed("entryId") if position else None
    return None if ledger_id is None or entry_id is None else (ledger_id, entry_id)


def _ledger_id(ledger: Fields) -> int | None:
    if not ledger.has("ledgerId"):
        ledger.fault("ledgerId")
    return ledger.integer("ledgerId")


def _position(body: Fields, name: str) -> tuple[int, int] | None:
    text = body.text(name)
    match = _POSITION.fullmatch(text) if text else None
    if match:
        return int(match[1]), int(match[2])
    if text not in (None, "-1:-1"):  # -1:-1 is a topic that never held anything
        body.fault(name)
    return None


def _uuid(ledger: Fields) -> str | None:
    uuid = ledger.text("offloadedContextUuid")
    if uuid is not None and not _UUID.fullmatch(uuid):
        ledger.fault("offloadedContextUuid")
        return None
    return uuid


def _topic_in_metadata(ledger: Fields) -> str | None:
    match = _MANAGED_LEDGER.search(ledger.text("metadata") or "")
    if not match:
        return None
    try:
        return topic_of_managed_ledger(base64.b64decode(match[1], validate=True).decode())
    except ValueError:
        ledger.fault("metadata")
        return None


def is_topic(name: str) -> bool:
    """Whether this is the full name of a persistent topic."""
    try:
        managed_ledger_of_topic(name)
    except ValueError:
        return False
    return True
