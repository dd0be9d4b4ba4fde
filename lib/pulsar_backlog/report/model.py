"""What a report is made of: small, plain, bounded rows with the true totals. No field can hold a payload or a key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypedDict

from pulsar_backlog.report.acks import NO_ACKS, NO_STATE, Acks, ListedSubscription, TopicAcks
from pulsar_backlog.report.clients import NO_CLIENTS, ModelSum, TopicClients
from pulsar_backlog.report.earlier import NOTHING_EARLIER, Earlier
from pulsar_backlog.report.places import REPAIRS
from pulsar_backlog.report.scalable import NO_SCALABLE, Scalable
from pulsar_backlog.report.since import SinceLast

MAX_TOPICS = 500
"""Topics that are gathered and drawn at once; `result.json` lists the first of these batches."""
MAX_FINDINGS = 2000
"""Findings a report lists; `finding_totals` counts them all."""
MAX_BROKEN = 50
"""Broken publications listed per topic; the groups count them all."""
MAX_TOPIC_FINDINGS = 100
"""Findings listed per topic."""
MAX_LEDGERS = 50
"""Ledgers listed per topic."""


class FindingRow(TypedDict):
    """A row of the `findings` table."""

    cluster: str
    job: str
    code: str
    name: str
    severity: str
    subject: str
    topic: str | None
    ledger_id: int | None
    entry_id: int | None
    count: int
    sureness: str
    reason: str
    message: str
    evidence: list[str]
    incomplete: bool


class QualityRow(TypedDict):
    """A row of the `quality_results` table."""

    cluster: str
    rule: str
    summary: str
    severity: str
    passed: bool
    checked: int
    failed: int
    sentence: str
    expectation: str
    examples: list[str] | None


class ByteRange(TypedDict):
    """Half-open range of bytes of the compressed message."""

    start: int
    end: int


class PublicationRow(TypedDict):
    """The columns of `chunked_messages` that a report shows."""

    chunk_uuid: str
    publish_time_ms: int
    producer_name: str
    state: str
    flags: list[str]
    rebuildable: bool
    sureness: str
    reason: str
    first_ledger_id: int | None
    first_entry_id: int | None
    last_ledger_id: int | None
    last_entry_id: int | None
    num_chunks: int
    present_chunks: int
    missing_chunk_ids: list[int]
    missing_chunk_count: int
    missing_bytes: list[ByteRange]
    total_bytes: int


@dataclass(frozen=True)
class PublicationGroup:
    """Publications that share a verdict: one row of a `groupBy` over these columns, with its count."""

    state: str
    flags: tuple[str, ...]
    rebuildable: bool
    sureness: str
    publications: int


@dataclass(frozen=True)
class FindingTotal:
    """All findings of one code, severity and completeness.

    Attributes:
        findings: rows of the `findings` table.
        count: sum of their `count` column.
    """

    code: str
    severity: str
    incomplete: bool
    findings: int
    count: int


@dataclass(frozen=True)
class LedgerFacts:
    """One stored copy of a ledger.

    Attributes:
        entries: entries walked, or None when it was not scanned.
        bytes: size of the data object, or None when there is none.
        status: as in the `ledgers` table.
        created_ms: None when not recorded.
        closed_ms: None when unknown.
    """

    ledger_id: int
    entries: int | None
    bytes: int | None
    status: str
    created_ms: int | None = None
    closed_ms: int | None = None


@dataclass(frozen=True)
class Bucket:
    """What was published in one span of time; spans without entries may be left out."""

    start_ms: int
    entries: int
    bytes: int
    chunk_entries: int


@dataclass(frozen=True)
class SettingRow:
    """A setting of clients or topic that suits the topic's log, and why."""

    setting: str
    value: str
    reason: str


@dataclass(frozen=True)
class TopicSection:
    """One topic partition.

    Attributes:
        topic: full name, or None for ledgers whose topic nothing names.
        ledgers: some of its ledger copies, in order; `ledger_total` counts them all.
        entries: entries decoded.
        rejected: entries that could not be decoded.
        messages: estimate of messages: batches unfolded, each chunked message once; None when unknown.
        bytes: bytes of the entries.
        first_ms: earliest time, or None.
        last_ms: latest time, or None.
        time_basis: whose clock the times are by.
        bucket_ms: width of one of the `buckets`, which are by time.
        groups: all its publications, counted by verdict.
        broken: the worst of its publications; the groups know how many there are.
        findings: some of its findings; `finding_totals` counts them all.
        settings: what `topic_stats` recommends; none without chunks.
        acks: its subscriptions, where saved state was given.
        clients: what models of clients make of its chunks.
    """

    topic: str | None
    ledgers: tuple[LedgerFacts, ...] = ()
    ledger_total: int = 0
    entries: int = 0
    rejected: int = 0
    messages: int | None = None
    bytes: int = 0
    first_ms: int | None = None
    last_ms: int | None = None
    time_basis: Literal["broker", "producer"] = "broker"
    bucket_ms: int = 1
    buckets: tuple[Bucket, ...] = ()
    groups: tuple[PublicationGroup, ...] = ()
    broken: tuple[PublicationRow, ...] = ()
    findings: tuple[FindingRow, ...] = ()
    finding_totals: tuple[FindingTotal, ...] = ()
    settings: tuple[SettingRow, ...] = ()
    acks: TopicAcks = NO_ACKS
    clients: TopicClients = NO_CLIENTS


@dataclass(frozen=True)
class ListedTopic:
    """A topic beyond those with a section: what is known of it without a look at its parts."""

    topic: str | None
    errors: int
    entries: int
    bytes: int


@dataclass(frozen=True)
class Counts:
    """Totals over everything that was audited.

    Attributes:
        ledgers: stored copies of ledgers.
        ledgers_not_ok: copies that are damaged or unreadable.
        entries: entries decoded.
        rejected: entries that could not be decoded.
        bytes: bytes of entries.
        messages: estimate, or None when unknown.
        chunk_entries: entries that are chunks.
    """

    topics: int
    ledgers: int
    ledgers_not_ok: int
    entries: int
    rejected: int
    bytes: int
    messages: int | None
    chunk_entries: int


@dataclass(frozen=True)
class TableCount:
    """A table of the output and its rows."""

    name: str
    rows: int


@dataclass(frozen=True)
class ReportModel:
    """Everything a report says, in plain values.

    Attributes:
        source: as given, without credentials.
        out: output folder as given, for commands to copy.
        started_ms: when the audit started, UTC milliseconds.
        options: options of the audit, as `runs` records them.
        exit_code: how the command ends; see the README.
        fail_on: which findings make it fail.
        groups: all publications of all topics, counted by verdict.
        topics: the worst `MAX_TOPICS`; pages get the others in batches, see `pages`.
        findings: some findings, worst first; `finding_totals` counts them all.
        data_docs: link to the data-quality pages, relative to the report, or None when there are none.
        repairs: link to the page of plans and what was done about them, likewise.
        acks: all subscriptions that saved state names.
        subscriptions: one line about each, the worst first, at most `acks.MAX_LISTED`.
        clients: what each model of a client makes of all topics.
        one_cluster: whether the tables are of no other cluster.
        earlier: what the audit goes by that an earlier one was given or looked at.
        since: what changed since the audit before.
        scalable: scalable topics (Pulsar 5), whose segments are topics of their own.
    """

    cluster: str
    source: str
    out: str
    started_ms: int
    seconds: float
    versions: Mapping[str, str]
    options: Mapping[str, str]
    exit_code: int
    counts: Counts
    groups: tuple[PublicationGroup, ...] = ()
    topics: tuple[TopicSection, ...] = ()
    findings: tuple[FindingRow, ...] = ()
    finding_totals: tuple[FindingTotal, ...] = ()
    quality: tuple[QualityRow, ...] = ()
    tables: tuple[TableCount, ...] = ()
    data_docs: str | None = "data_docs/index.html"
    repairs: str | None = REPAIRS
    acks: Acks = NO_STATE
    subscriptions: tuple[ListedSubscription, ...] = ()
    clients: tuple[ModelSum, ...] = ()
    fail_on: str = "error"
    one_cluster: bool = True
    earlier: Earlier = NOTHING_EARLIER
    since: SinceLast | None = None
    scalable: Scalable = NO_SCALABLE

    @property
    def is_live(self) -> bool:
        """Whether brokers were read, and not what they stored away."""
        return self.source.startswith(("pulsar://", "pulsar+ssl://"))
