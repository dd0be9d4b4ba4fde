"""A topic's list of ledgers in the metadata store -> the same document that `internal-info` gives of it."""

from __future__ import annotations

from pulsar_backlog.cluster.documents import Document, SavedLedger
from pulsar_backlog.cluster.stored_values import StoredValue
from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.ledger_list import LedgerInfo, LedgerList, decode_ledger_list


def document_of_ledger_list(value: StoredValue) -> Document | None:
    """What the value says; None of a cursor, and where its bytes are not a list (K10 says so where cursors are read).

    Internal-info is made from the same value; unlike it, the value says whether an offload is complete.
    """
    if value.cursor is not None:
        return None
    try:
        listed = decode_ledger_list(value.value)
    except DecodeError:
        return None
    return Document(
        kind="internal-info",
        topic=value.topic,
        # A broker sorts them, but 5.0.0-M1 has stored an open ledger before the one that it closed.
        ledgers=tuple(_ledger(one, listed) for one in sorted(listed.ledgers, key=lambda one: one.ledger_id)),
        known_until_ms=value.modified_ms,
        terminated=listed.terminated is not None,
        terminated_at=listed.terminated,
    )


def _ledger(one: LedgerInfo, listed: LedgerList) -> SavedLedger:
    entries = one.entries
    if listed.terminated is not None and listed.terminated[0] == one.ledger_id:
        entries = listed.terminated[1] + 1  # the last ledger of a sealed segment is closed without its count
    return SavedLedger(
        one.ledger_id,
        uuid=one.offload_uuid,
        complete=bool(one.offload_complete),
        entries=entries,
        size_bytes=one.size_bytes,
        closed_time_ms=one.timestamp_ms if one.entries is not None else None,
    )
