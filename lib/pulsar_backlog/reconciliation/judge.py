"""What one stored thing is to the broker, by what saved admin JSON knows of its ledger and topic.

Only two verdicts ever mean that no broker needs it: `leftover` and `trimmed`. Both rest on facts that do not change
any more, however old the saved metadata are: an offload that is complete stays so, and what was cut off the front of a
topic does not come back. Everything that could be otherwise gets a verdict of its own, and stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pulsar_backlog.cluster.absent import may_hold_entries
from pulsar_backlog.cluster.values import ClusterState, LedgerRecord, topics_besides
from pulsar_backlog.counting import counted
from pulsar_backlog.ledgers.storage_kinds import traits_of
from pulsar_backlog.ledgers.values import LedgerCopy
from pulsar_backlog.reconciliation.values import Judged, Stored

_WHOLE_FAULTS = frozenset(("S06",))
"""Findings about a copy that do not make it less than whole: that there are several."""


@dataclass(frozen=True)
class Claim:
    """What saved admin JSON says of one ledger that one topic alone claims.

    Attributes:
        record: of the ledger.
        may_hold_entries: whether it may hold any, as far as the broker says.
    """

    record: LedgerRecord
    may_hold_entries: bool


@dataclass(frozen=True)
class Knowledge:
    """What saved admin JSON says that is not about one ledger.

    Attributes:
        spans: first and last ledger of each topic that has any, by full name.
        in_part: topics whose lists of ledgers could be read in part only.
        disputed: ledgers that two topics claim.
        compacted: topics by the ledger that holds their compacted view.
        besides: topics by ledgers that no list names, and transactions of segments do.
    """

    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    in_part: frozenset[str] = frozenset()
    disputed: frozenset[int] = frozenset()
    compacted: Mapping[int, str] = field(default_factory=dict)
    besides: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, state: ClusterState) -> Knowledge:
        """What a folder of saved admin JSON says."""
        ids = {one.topic: [ledger.ledger_id for ledger in one.ledgers] for one in state.topics.values() if one.ledgers}
        spans = {topic: (min(listed), max(listed)) for topic, listed in ids.items()}
        compacted = {one.compacted_ledger_id: one.topic for one in state.topics.values() if one.compacted_ledger_id}
        in_part = frozenset(one.topic for one in state.topics.values() if not one.names_all_ledgers)
        return cls(spans, in_part, state.disputed, compacted, topics_besides(state))


def claims_of(state: ClusterState) -> Iterator[Claim]:
    """What saved admin JSON says of each ledger that one topic alone claims."""
    for topic in state.topics.values():
        for record in topic.ledgers:
            if record.ledger_id not in state.disputed:
                yield Claim(record, may_hold_entries(topic, record))


def judge(one: Stored, attempts: Sequence[Stored], record: LedgerRecord | None, knowledge: Knowledge) -> Judged:
    """What `one` is, of all that is stored of its ledger, by what metadata say of the ledger."""
    kind = traits_of(one.kind)
    if kind.deleted_by:
        return Judged("bookkeeper", kind.deleted_by)
    if kind.is_segment:
        return Judged(
            "undecided", "Streaming offload: the metadata name its objects as segments, and no admin JSON shows those."
        )
    if one.ledger_id in knowledge.disputed:
        return Judged("undecided", "Two topics claim this ledger, so no statement about it is reliable.")
    if one.ledger_id in knowledge.compacted:
        topic = knowledge.compacted[one.ledger_id]
        return Judged(
            "compacted", f"This ledger belongs to the compacted view of {topic}: brokers do not offload such ledgers."
        )
    if record is None:
        return _without_record(one, knowledge)
    if one.topic is not None and one.topic != record.topic:
        return Judged("undecided", f"The objects name another topic than the metadata, which name {record.topic}.")
    if record.uuid is None:
        return _without_uuid(record)
    if one.uuid == record.uuid.lower():
        return _named(one, record)
    return _other_attempt(one, attempts, record)


def _without_record(one: Stored, knowledge: Knowledge) -> Judged:
    """What no topic's list of ledgers has."""
    if one.topic is None:
        return Judged("undecided", "Nothing names the topic of this ledger, and no saved list of ledgers has it.")
    if one.topic in knowledge.in_part:
        return Judged("undecided", "Of the topic's saved list of ledgers some could not be read: this may be one.")
    span = knowledge.spans.get(one.topic)
    if span is None:
        reason = "was deleted, belongs to another cluster, or was not saved"
        return Judged("unknown_topic", f"The saved metadata hold no ledgers of this topic: it {reason}.")
    first, last = span
    if one.ledger_id < first:
        return Judged("trimmed", f"The topic now begins at ledger {first}: the broker has deleted this one.")
    if one.ledger_id > last:
        return Judged("newer", f"The topic's saved list ends at ledger {last}: this one may be newer than the list.")
    return Judged("unlisted", "The topic's saved list has ledgers before and after this one, but not this one.")


def _without_uuid(record: LedgerRecord) -> Judged:
    if record.complete is False:
        return Judged("doubtful", "The saved metadata know no offload of this ledger: one may have begun since.")
    return Judged(
        "undecided", "The saved metadata do not name the offload attempt: save the topic's internal-info, which does."
    )


def _named(one: Stored, record: LedgerRecord) -> Judged:
    if one.kind == "upload":
        return Judged("doubtful", "The metadata name exactly this attempt, and its upload was never finished.")
    if record.complete:
        return Judged("current", "The broker reads this copy.")
    return Judged(
        "unfinished", "The metadata name this attempt and do not call it complete: it is still running, or it failed."
    )


def _other_attempt(one: Stored, attempts: Sequence[Stored], record: LedgerRecord) -> Judged:
    """A copy, or upload, of a ledger for which the metadata name another attempt."""
    if not record.complete:
        return Judged("doubtful", "The metadata call no attempt complete: the broker may read this one, now or later.")
    uuid = (record.uuid or "").lower()
    named = [attempt for attempt in attempts if attempt.uuid == uuid and attempt.examined is not None]
    if len(named) != 1 or named[0].examined is None:
        many = counted(len(named), "copy of it is", "copies of it are")
        return Judged("rescue", f"The broker reads attempt {uuid}, and {many} here: this may be the last one.")
    current = named[0].examined
    if current.status != "ok" or not named[0].has_index or set(current.faults) - _WHOLE_FAULTS:
        return Judged("rescue", f"The copy that the broker reads ({uuid}) is not whole: this one may be whole.")
    doubt = _doubt(one, named[0], current)
    if doubt:
        return Judged("doubtful", doubt, current.copy)
    return Judged("leftover", f"The broker reads attempt {uuid}, which is here and whole.", current.copy)


def _doubt(one: Stored, named: Stored, current: LedgerCopy) -> str | None:
    """Why another attempt could be more than a leftover of an earlier one, or None."""
    if one.examined is None:
        return None  # parts of an upload were never an object
    if one.examined.managed_ledger is None or one.examined.managed_ledger != current.managed_ledger:
        return "Nothing says that it belongs to the same topic as the copy that the broker reads."
    if not one.has_index:
        return None  # no broker can have completed it
    if (one.examined.expected_entries, one.examined.expected_bytes) != (
        current.expected_entries,
        current.expected_bytes,
    ):
        return (
            "It promises other entries or bytes than the copy that the broker reads: it is not a retry of that offload."
        )
    first = current.first_written_ms
    if first is None or one.last_written_ms is None or one.last_written_ms >= first:
        return "It has an index and is not older than the copy that the metadata name: it may be the newer one."
    return None
