"""All that is stored against all that metadata know: rows of `inventory`, in the order of ledger and copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from pulsar_backlog.cluster.absent import absent_ledgers
from pulsar_backlog.cluster.values import ClusterState, LedgerRecord
from pulsar_backlog.ledgers.listing import offload_name
from pulsar_backlog.ledgers.stored_objects import Upload
from pulsar_backlog.ledgers.streaming import Streamed
from pulsar_backlog.ledgers.values import LedgerCopy
from pulsar_backlog.reconciliation.judge import Knowledge, judge
from pulsar_backlog.reconciliation.values import Judged, Row, Stored

NOT_NEEDED = frozenset(("leftover", "trimmed"))
"""Verdicts that mean that no broker needs it."""

_NO_METADATA = Judged("undecided", "No saved admin JSON was given (--admin), so nothing can be compared.")
_NONE_CONFIRMED = " But these metadata call no copy here complete: they may belong to another cluster."


def stored_copy(copy: LedgerCopy) -> Stored:
    """A copy of a ledger as something stored; files of bookies are not its own, and never named as if they were."""
    if copy.kind == "bookies":
        return Stored(copy.ledger_id, copy.uuid, copy.topic, copy.copy, copy.kind, 0, (), copy)
    objects = (copy.data_uri, copy.index_uri, copy.checksum_uri)
    return Stored(
        ledger_id=copy.ledger_id,
        uuid=copy.uuid,
        topic=copy.topic,
        copy=copy.copy,
        kind=copy.kind,
        bytes=(copy.data_bytes or 0) + (copy.index_bytes or 0),
        objects=tuple(path for path in objects if path is not None),
        examined=copy,
        last_written_ms=copy.last_written_ms,
    )


def stored_upload(upload: Upload) -> Stored | None:
    """An unfinished upload of a ledger's object; None where it is for something else."""
    named = offload_name(upload.path.rpartition("/")[2])
    if named is None:
        return None
    ledger_id, uuid, role = named
    return Stored(
        ledger_id=ledger_id,
        uuid=uuid,
        topic=None,
        copy=f"{uuid} {role} {upload.upload_id}",
        kind="upload",
        bytes=upload.size or 0,
        objects=(upload.path,),
        upload_id=upload.upload_id,
        last_written_ms=upload.started_ms,
    )


def stored_stream(streamed: Streamed) -> Stored:
    """A ledger in an object of streaming offload as something stored."""
    return Stored(
        ledger_id=streamed.ledger.ledger_id,
        uuid=streamed.uuid,
        topic=None,
        copy=f"{streamed.uuid} from {streamed.ledger.first_entry_id}",
        kind="streaming",
        bytes=streamed.bytes,
        objects=streamed.objects,
        last_written_ms=streamed.written_ms,
    )


def reconciled(
    copies: Iterable[LedgerCopy],
    uploads: Iterable[Upload] = (),
    state: ClusterState | None = None,
    streamed: Iterable[Streamed] = (),
) -> list[Row]:
    """What each thing stored is to the broker, and which ledgers of its metadata are not stored.

    Args:
        copies: of ledgers, as the inventory of the source has them.
        uploads: multipart uploads that were never finished.
        state: what saved admin JSON says; None compares nothing.
        streamed: ledgers in objects of streaming offload.
    """
    stored = [stored_copy(copy) for copy in copies]
    stored += [found for upload in uploads if (found := stored_upload(upload)) is not None]
    stored += map(stored_stream, streamed)
    stored.sort(key=lambda one: (one.ledger_id, one.copy))
    if state is None:
        return [Row(one.ledger_id, one.topic, one.copy, one.kind, _NO_METADATA, one) for one in stored]
    known = Knowledge.of(state)
    judged = list(_judged(stored, known))
    rows = list(_owned(judged, known))
    return sorted([*rows, *_absent(rows, state)], key=lambda row: (row.ledger_id, row.copy))


def _judged(stored: list[Stored], known: Knowledge) -> Iterator[tuple[Stored, Judged]]:
    for _, group in groupby(stored, key=lambda one: one.ledger_id):
        attempts = list(group)
        for one in attempts:
            yield one, judge(one, attempts, known)


def _owned(judged: list[tuple[Stored, Judged]], known: Knowledge) -> Iterator[Row]:
    """Rows of what is stored: whose it is decides whether it may be called needless."""
    confirmed = [one for one, verdict in judged if verdict.verdict == "current"]
    ours = {one.pulsar_cluster for one in confirmed} - {None}
    for one, verdict in judged:
        record = known.records.get(one.ledger_id)
        topic = one.topic or (record.topic if record else None)
        needless = verdict.verdict in NOT_NEEDED
        owner = one.pulsar_cluster
        if needless and ours and owner is not None and owner not in ours:
            said = "One Pulsar cluster wrote it, and another wrote what these metadata call complete."
            yield Row(one.ledger_id, topic, one.copy, one.kind, Judged("other_cluster", said), one, record)
        elif needless and not confirmed:
            doubt = Judged(verdict.verdict, verdict.reason + _NONE_CONFIRMED, verdict.current_copy)
            yield Row(one.ledger_id, topic, one.copy, one.kind, doubt, one, record)
        else:
            alone = needless and (owner is None or owner not in ours)
            yield Row(one.ledger_id, topic, one.copy, one.kind, verdict, one, record, needless, alone)


def _absent(rows: list[Row], state: ClusterState) -> Iterator[Row]:
    """Ledgers that metadata know and nobody stores, or of which only other attempts are stored."""
    held = {row.ledger_id for row in rows if row.kind in ("jcloud", "filesystem")}
    seen = held | {row.ledger_id for row in rows if row.kind == "bookies"}
    current = {row.ledger_id for row in rows if row.judged.verdict in ("current", "unfinished")}
    taken = {(row.ledger_id, row.copy) for row in rows}
    for topic in state.topics.values():
        if topic.compacted_ledger_id and topic.compacted_ledger_id not in seen:
            said = "The compacted view of the topic. Only BookKeeper has it: brokers never offload it."
            yield Row(topic.compacted_ledger_id, topic.topic, "", "none", Judged("compacted", said))
        for record in topic.ledgers:
            if record.ledger_id in state.disputed or record.ledger_id in current:
                continue
            named = (record.ledger_id, (record.uuid or "").lower())
            if record.complete and named not in taken and (record.uuid or record.ledger_id not in held):
                said = "The broker reads this ledger from offloaded objects that are not here."
                yield _absent_row(record, Judged("missing", said))
        for record in absent_ledgers(topic, seen):
            if not record.complete and record.ledger_id not in state.disputed:
                said = "As far as the saved metadata tell, the broker has this ledger in BookKeeper."
                yield _absent_row(record, Judged("not_offloaded", said))


def _absent_row(record: LedgerRecord, judged: Judged) -> Row:
    return Row(record.ledger_id, record.topic, (record.uuid or "").lower(), "none", judged, record=record)
