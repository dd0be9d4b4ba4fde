"""All that is stored against all that metadata know: rows of `inventory`, in the order of ledger and copy.

Each ledger is compared alone; only whose the place is, all of them together show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.ledgers.listing import offload_name
from pulsar_backlog.ledgers.storage_kinds import traits_of
from pulsar_backlog.ledgers.stored_objects import Upload
from pulsar_backlog.ledgers.streaming.objects import Streamed
from pulsar_backlog.ledgers.values import LedgerCopy
from pulsar_backlog.reconciliation.judge import Claim, Knowledge, claims_of, judge
from pulsar_backlog.reconciliation.values import Judged, Row, Stored

NOT_NEEDED = frozenset(("leftover", "trimmed"))
"""Verdicts that mean that no broker needs it."""

_NO_METADATA = Judged("undecided", "No saved admin JSON was given (--admin), so nothing can be compared.")
_NONE_CONFIRMED = " But these metadata call no copy here complete: they may belong to another cluster."


def stored_copies(copies: Iterable[LedgerCopy]) -> Iterator[Stored]:
    """Copies of ledgers as things stored; of streaming offload each object is one instead (`stored_stream`)."""
    return (stored_copy(copy) for copy in copies if not traits_of(copy.kind).is_segment)


def stored_copy(copy: LedgerCopy) -> Stored:
    """A copy of a ledger as something stored; what BookKeeper holds has no objects of its own, and none are named."""
    if traits_of(copy.kind).deleted_by:
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
        ledger_id=streamed.ledger_id,
        uuid=streamed.uuid,
        topic=None,
        copy=f"{streamed.uuid} from {streamed.first_entry_id}",
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
    stored = stored_by_ledger(stored_copies(copies), stored_besides(uploads, streamed))
    if state is None:
        return [row for ledger_id in sorted(stored) for row in compare_ledger(ledger_id, stored[ledger_id], None, None)]
    knowledge = Knowledge.of(state)
    claims = {claim.record.ledger_id: claim for claim in claims_of(state)}
    ids = sorted(stored.keys() | claims.keys() | knowledge.compacted.keys())
    rows = [row for id_ in ids for row in compare_ledger(id_, stored.get(id_, []), claims.get(id_), knowledge)]
    ownership = Ownership.of((row.judged.verdict, row.pulsar_cluster) for row in rows)
    return [row.owned(owned(row.judged, row.pulsar_cluster, ownership)) for row in rows]


def stored_besides(uploads: Iterable[Upload], streamed: Iterable[Streamed]) -> Iterator[Stored]:
    """What is stored besides copies that were examined."""
    for upload in uploads:
        if (one := stored_upload(upload)) is not None:
            yield one
    yield from map(stored_stream, streamed)


def stored_by_ledger(*copies: Iterable[Stored]) -> dict[int, list[Stored]]:
    """What is stored of each ledger."""
    by_ledger: dict[int, list[Stored]] = {}
    for one in chain.from_iterable(copies):
        by_ledger.setdefault(one.ledger_id, []).append(one)
    return by_ledger


def compare_ledger(ledger_id: int, stored: list[Stored], claim: Claim | None, knowledge: Knowledge | None) -> list[Row]:
    """All that is stored of a ledger against what metadata say of it; whose it is, `owned` tells.

    Args:
        ledger_id: ledger.
        stored: of it.
        claim: what metadata say of it; None where they do not know it.
        knowledge: the rest that they say; None compares nothing.
    """
    stored = sorted(stored, key=lambda one: one.copy)
    if knowledge is None:
        return [Row(ledger_id, one.topic, one.copy, one.kind, _NO_METADATA, one) for one in stored]
    record = claim.record if claim else None
    rows = []
    for one in stored:
        topic = one.topic or (record.topic if record else None)
        rows.append(Row(ledger_id, topic, one.copy, one.kind, judge(one, stored, record, knowledge), one, record))
    return sorted([*rows, *_absent(rows, ledger_id, claim, knowledge)], key=lambda row: row.copy)


def _absent(rows: list[Row], ledger_id: int, claim: Claim | None, knowledge: Knowledge) -> Iterator[Row]:
    """A ledger that metadata know and nobody stores, or of which only other attempts are stored."""
    is_held = any(traits_of(row.kind).is_offloaded for row in rows)
    is_seen = is_held or any(traits_of(row.kind).deleted_by for row in rows)
    if ledger_id in knowledge.compacted and not is_seen:
        reason = "The compacted view of the topic. Only BookKeeper has it: brokers never offload it."
        yield Row(ledger_id, knowledge.compacted[ledger_id], "", "none", Judged("compacted", reason))
    if claim is None or any(row.judged.verdict in ("current", "unfinished") for row in rows):
        return
    record = claim.record
    uuid = (record.uuid or "").lower()
    if record.complete and uuid not in {row.copy for row in rows} and (record.uuid or not is_held):
        reason = "The broker reads this ledger from offloaded objects that are not here."
        yield Row(ledger_id, record.topic, uuid, "none", Judged("missing", reason), record=record)
    if not record.complete and not is_seen and claim.may_hold_entries:
        reason = "As far as the saved metadata tell, the broker has this ledger in BookKeeper."
        yield Row(ledger_id, record.topic, uuid, "none", Judged("not_offloaded", reason), record=record)


@dataclass(frozen=True)
class Ownership:
    """What shows whose a place is: what the metadata call complete, and who wrote that.

    Attributes:
        confirmed: whether any copy here is one that the metadata call complete.
        clusters: Pulsar's own names of the clusters that wrote such copies.
    """

    confirmed: bool
    clusters: frozenset[str]

    @classmethod
    def of(cls, names: Iterable[tuple[str, str | None]]) -> Ownership:
        """By verdict and Pulsar cluster of all that is stored."""
        owners = {owner for verdict, owner in names if verdict == "current"}
        return cls(bool(owners), frozenset(owner for owner in owners if owner is not None))


def owned(judged: Judged, writer: str | None, ownership: Ownership) -> tuple[Judged, bool, bool]:
    """What something stored is in a place of this ownership: another cluster's copies are not called needless.

    Args:
        judged: what it is otherwise.
        writer: Pulsar's own name of the cluster that wrote it; None where that is not known.
        ownership: of the place.

    Returns:
        What it is, whether it leaks, and whether only a sole owner may say so.
    """
    if judged.verdict not in NOT_NEEDED:
        return judged, False, False
    if ownership.clusters and writer is not None and writer not in ownership.clusters:
        reason = "One Pulsar cluster wrote it, and another wrote what these metadata call complete."
        return Judged("other_cluster", reason), False, False
    if not ownership.confirmed:
        return Judged(judged.verdict, judged.reason + _NONE_CONFIRMED, judged.current_copy), False, False
    return judged, True, writer is None or writer not in ownership.clusters
