"""From a source to the copies of ledgers in it: which is scanned, and what is wrong with each.

Of several copies of one ledger one is scanned: the one that saved admin JSON names complete, else one whose index and
data agree, else one of the object-store offloader, else the longest. Leftovers of retried offloads are usual, so what
is wrong with a copy that is not scanned stands in its row and in the finding about the copies, not in findings of its
own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from pulsar_backlog.cluster.values import ClusterState, LedgerRecord, broker_copies, topics_besides
from pulsar_backlog.findings import Finding
from pulsar_backlog.ledgers.copies import CLUSTER_KEY, Examined, Problem
from pulsar_backlog.ledgers.jcloud import BLOCK_HEADER_BYTES
from pulsar_backlog.ledgers.listing import printable, take_listing
from pulsar_backlog.ledgers.storage_kinds import STORAGE_KINDS
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.survey import Survey, survey
from pulsar_backlog.ledgers.values import LedgerCopy

_DAMAGE = frozenset(("S02", "S05", "S08", "S09", "S10", "S11", "S12", "S13", "S14"))
_NO_PROMISE = "Nothing names the topic of this ledger."


@dataclass(frozen=True)
class Inventory:
    """What the source holds: every stored copy, by ledger and UUID, and what is to be said about them.

    `internal` are ledgers in the files of bookies that hold no messages.
    """

    copies: list[LedgerCopy]
    findings: list[Finding]
    internal: tuple[Examined, ...] = ()


def settle(surveyed: Survey, records: ClusterRecords) -> Inventory:
    """What is to be said of each copy of a survey, by what others know too."""
    copies: list[LedgerCopy] = []
    findings = list(surveyed.findings)
    for _, attempts in groupby(surveyed.attempts, key=lambda attempt: attempt.pair.ledger_id):
        settled, problems_of_ledger = records.settle(list(attempts))
        copies += settled
        findings += problems_of_ledger
    return Inventory(copies, findings, surveyed.internal)


def take_inventory(
    source: Source,
    *,
    topics_of_ledgers: Mapping[int, str] | None = None,
    broker_copies: Mapping[int, LedgerRecord] | None = None,
) -> Inventory:
    """List the source and examine every copy of a ledger in it.

    Args:
        source: where to look.
        topics_of_ledgers: full topic names of ledgers whose objects name none.
        broker_copies: what saved admin JSON says, by ledger.

    Raises:
        UsageError: the source does not exist.
    """
    return settle(survey(source, take_listing(source)), ClusterRecords(topics_of_ledgers or {}, broker_copies or {}))


@dataclass(frozen=True)
class ClusterRecords:
    """What others know of ledgers."""

    topics: Mapping[int, str]
    broker: Mapping[int, LedgerRecord]

    @classmethod
    def of(cls, state: ClusterState) -> ClusterRecords:
        """What saved state says: topics by its lists of ledgers, else by transactions of segments."""
        records = broker_copies(state)
        return cls(topics_besides(state) | {ledger_id: one.topic for ledger_id, one in records.items()}, records)

    def settle(self, attempts: list[Examined]) -> tuple[list[LedgerCopy], list[Finding]]:
        """Decide among the copies of one ledger, and say what is wrong."""
        ledger_id = attempts[0].pair.ledger_id
        broker = self.broker.get(ledger_id)
        chosen = _choose(attempts, broker)
        attempts = [
            attempt for attempt in attempts if attempt is chosen or not STORAGE_KINDS[attempt.pair.kind].is_broker_read
        ]
        stored = [attempt for attempt in attempts if not STORAGE_KINDS[attempt.pair.kind].is_broker_read]
        between = _between(stored, chosen) if len(stored) > 1 else []
        copies, findings = [], []
        for attempt in attempts:
            topic = self._topic(attempt)
            problems = [*attempt.problems, *(between if attempt in stored else ())]
            if attempt is chosen or chosen is None:
                problems += _against_broker(attempt, topic, broker)
                problems += [] if topic else [Problem("S18", _NO_PROMISE, _path(attempt))]
            copy = _copy(attempt, topic, broker, problems, len(attempts), chosen)
            copies.append(copy)
            if copy.status != "spare":
                findings += [_finding(problem, copy) for problem in problems]
        return copies, list(_merged(findings))

    def _topic(self, attempt: Examined) -> str | None:
        """Full name of the topic that a copy belongs to, or None when nothing tells."""
        ledger_id = attempt.pair.ledger_id
        broker = self.broker.get(ledger_id)
        return attempt.topic or self.topics.get(ledger_id) or (broker.topic if broker else None)


def _choose(attempts: list[Examined], broker: LedgerRecord | None) -> Examined | None:
    """The copy to scan, or None when no data object is there."""

    def merit(one: Examined) -> tuple[bool, bool, bool, bool, int]:
        named = bool(broker and broker.complete and broker.uuid == _uuid(one))
        agrees = one.has_index and not any(problem.code in _DAMAGE for problem in one.problems)
        # Lengths tell which of two copies holds more only where both are stored the same way.
        kind = STORAGE_KINDS[one.pair.kind]
        size = one.pair.data.size if one.pair.data else 0
        return named, kind.is_broker_read, agrees, kind.has_equal_blocks, size

    with_data = [each for each in attempts if each.pair.data is not None]
    return max(with_data, key=merit, default=None)  # the first among equals: the order of UUIDs


def _between(attempts: list[Examined], chosen: Examined | None) -> list[Problem]:
    """What several copies of one ledger say of each other."""
    path = _path(chosen or attempts[0])
    codes = {problem.code for attempt in attempts if attempt is not chosen for problem in attempt.problems}
    leftovers = f" The others have: {', '.join(sorted(codes))}." if codes else ""
    problems = [Problem("S06", f"{len(attempts)} copies of the ledger are stored.{leftovers}", path)]
    promises: dict[str, set[object]] = {
        "entries": {attempt.expected_entries for attempt in attempts},
        "bytes": {attempt.expected_bytes for attempt in attempts},
        "managed ledger": {attempt.managed_ledger for attempt in attempts},
    }
    differ = [what for what, values in promises.items() if len(values - {None}) > 1]
    if differ:
        problems.append(Problem("S07", f"The copies promise different {', '.join(differ)}.", path))
    return problems


def _against_broker(attempt: Examined, topic: str | None, broker: LedgerRecord | None) -> list[Problem]:
    """Where saved admin JSON says something else than the copy does."""
    if broker is None or (broker.uuid is not None and broker.uuid != _uuid(attempt)):
        return []
    pairs = (
        ("entries", broker.entries, attempt.expected_entries),
        ("bytes", broker.size_bytes, attempt.expected_bytes),
        ("topic", broker.topic, topic),
    )
    return [
        Problem("S20", f"The broker records {what} {theirs}, the copy promises {ours}.", _path(attempt))
        for what, theirs, ours in pairs
        if theirs is not None and ours is not None and theirs != ours
    ]


def _copy(
    attempt: Examined,
    topic: str | None,
    broker: LedgerRecord | None,
    problems: list[Problem],
    attempts: int,
    chosen: Examined | None,
) -> LedgerCopy:
    data, index = attempt.pair.data, attempt.pair.index
    metadata = attempt.metadata
    times = _write_times_ms(attempt)
    return LedgerCopy(
        topic=topic,
        ledger_id=attempt.pair.ledger_id,
        copy=attempt.pair.copy,
        kind=attempt.pair.kind,
        managed_ledger=attempt.managed_ledger,
        data_uri=data.path if data else None,
        index_uri=index.path if index else None,
        data_bytes=data.size if data else None,
        index_bytes=index.size if index else None,
        data_etag=data.etag if data else None,
        expected_entries=_promised(attempt.expected_entries, broker.entries if broker else None, attempt),
        expected_bytes=_promised(attempt.expected_bytes, broker.size_bytes if broker else None, attempt),
        expected_data_bytes=attempt.index.data_length if attempt.index else None,
        ledger_state=_state(attempt, broker),
        created_time_ms=metadata.created_ms if metadata else None,
        closed_time_ms=broker.closed_time_ms if broker else None,
        offload_complete=_is_complete(attempt, broker, attempts),
        selected=attempt is chosen,
        status=_status(attempt, chosen),
        faults=tuple(sorted({problem.code for problem in problems})),
        blocks=attempt.blocks,
        structure_faults=attempt.faults,
        checksum_uri=attempt.pair.checksums.path if attempt.pair.checksums else None,
        pulsar_cluster=attempt.user_metadata.get(CLUSTER_KEY),
        first_written_ms=min(times, default=None),
        last_written_ms=max(times, default=None),
    )


def _write_times_ms(attempt: Examined) -> list[int]:
    """When data and index were written; none where one of the times is not known."""
    written = [stored.modified_ms for stored in (attempt.pair.data, attempt.pair.index) if stored is not None]
    times = [time for time in written if time is not None]
    return times if len(times) == len(written) else []


def _promised(ours: int | None, theirs: int | None, attempt: Examined) -> int | None:
    """What the copy promises; one stored before the ledger ended promises nothing: then what the broker recorded."""
    return theirs if ours is None and STORAGE_KINDS[attempt.pair.kind].is_spread else ours


def _state(attempt: Examined, broker: LedgerRecord | None) -> str | None:
    """State of the ledger. One stored before it ended may go on elsewhere until somebody says where it ends."""
    if STORAGE_KINDS[attempt.pair.kind].is_spread and attempt.metadata is None:
        return "OPEN" if broker is None or broker.entries is None else "CLOSED"
    return attempt.metadata.state if attempt.metadata else None


def _is_complete(attempt: Examined, broker: LedgerRecord | None, attempts: int) -> bool | None:
    """Whether admin JSON calls this attempt complete; a broker knows one attempt, so any other is not."""
    if broker is None:
        return None
    if broker.uuid is not None:
        return broker.complete if broker.uuid == _uuid(attempt) else False
    return broker.complete if attempts == 1 else None


def _status(attempt: Examined, chosen: Examined | None) -> str:
    if chosen is not None and attempt is not chosen:
        return "spare"
    if attempt.pair.data is None or not attempt.blocks:
        return "unreadable"
    if STORAGE_KINDS[attempt.pair.kind].has_equal_blocks and attempt.pair.data.size <= BLOCK_HEADER_BYTES:
        return "unreadable"
    return "damaged" if any(problem.code in _DAMAGE for problem in attempt.problems) else "ok"


def _finding(problem: Problem, copy: LedgerCopy) -> Finding:
    path, message = printable([problem.path, problem.message])
    return Finding(
        problem.code,
        str(copy.ledger_id),
        f"Ledger {copy.ledger_id}: {message}",
        topic=copy.topic,
        ledger_id=copy.ledger_id,
        evidence=(path,),
        incomplete=problem.incomplete,
    )


def _merged(findings: list[Finding]) -> Iterator[Finding]:
    """One finding for each code of a ledger."""
    by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        by_code.setdefault(finding.code, []).append(finding)
    for same in by_code.values():
        messages = dict.fromkeys(finding.message for finding in same)
        first = same[0]
        yield Finding(
            first.code,
            first.subject,
            " ".join(messages),
            topic=first.topic,
            ledger_id=first.ledger_id,
            evidence=tuple(dict.fromkeys(place for finding in same for place in finding.evidence)),
            incomplete=any(finding.incomplete for finding in same),
        )


def _uuid(attempt: Examined) -> str:
    return attempt.pair.copy.partition("#")[0]


def _path(attempt: Examined) -> str:
    stored = attempt.pair.index or attempt.pair.data
    return stored.path if stored else ""
