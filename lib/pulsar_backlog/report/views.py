"""The model cut and ordered for the page: what is shown in full, what is only counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pulsar_backlog.counting import counted
from pulsar_backlog.foreign_text import visible
from pulsar_backlog.report.acks import MAX_SUBSCRIPTIONS, BlockedRow
from pulsar_backlog.report.acks_view import SubscriptionView, subscription_views
from pulsar_backlog.report.clients import ClientSentence, columns, sentences
from pulsar_backlog.report.codes import CodeGroup, by_code
from pulsar_backlog.report.commands import all_findings, fill, run_of
from pulsar_backlog.report.consumers import blocked_words
from pulsar_backlog.report.figures import Segment, Timeline, state_bar, timeline
from pulsar_backlog.report.model import LedgerFacts, PublicationGroup, PublicationRow, ReportModel, TopicSection
from pulsar_backlog.report.outcomes import BROKEN, by_flag, by_outcome, by_state, rebuildable, row_outcome
from pulsar_backlog.report.verdict import Grade, Verdict, exit_words, judge, topic_line
from pulsar_backlog.report.words import byte_size, natural, position

MAX_OPEN = 5
"""Sections that are unfolded from the start."""

MAX_STRIPS_LATER = 3
"""Subscriptions drawn per topic after the first `MAX_OPEN` topics."""

MAX_BLOCKED_SHOWN = 20
MAX_ROWS_PER_CODE = 60
MAX_ROWS_PER_TOPIC_CODE = 10
MAX_BROKEN_SHOWN = 20
MAX_LEDGERS_SHOWN = 20
MAX_RANGES = 6

GRADE_ORDER: tuple[Grade, ...] = ("broken", "incomplete", "odd", "clean", "nothing")


@dataclass(frozen=True)
class CodeView:
    """A group of findings with its next command, the one that lists them all, and the rows that are shown."""

    group: CodeGroup
    command: str
    all_command: str
    shown: int


@dataclass(frozen=True)
class ChunksView:
    """Publications counted, and the bar that shows it."""

    total: int
    bar: tuple[Segment, ...]
    states: dict[str, int]
    flags: dict[str, int]
    rebuildable: int
    broken: int


@dataclass(frozen=True)
class TopicView:
    """One topic on the page.

    Attributes:
        anchor: id of its section.
        outcomes: that clients have here, in the order of columns.
        sentences: what of them is dangerous.
    """

    section: TopicSection
    anchor: str
    unfolded: bool
    grade: Grade
    line: str
    timeline: Timeline | None
    chunks: ChunksView
    ledgers: tuple[LedgerFacts, ...]
    broken: tuple[PublicationRow, ...]
    codes: tuple[CodeView, ...]
    subscriptions: tuple[SubscriptionView, ...]
    outcomes: tuple[str, ...]
    sentences: tuple[ClientSentence, ...]


@dataclass(frozen=True)
class BlockedView:
    """A subscription that is stalled."""

    row: BlockedRow
    words: str


@dataclass(frozen=True)
class Page:
    """Everything the front page says but for its topics."""

    model: ReportModel
    verdict: Verdict
    chunks: ChunksView
    codes: tuple[CodeView, ...]
    blocked: tuple[BlockedView, ...]
    exit_words: str


def page(model: ReportModel, rows_per_code: int = MAX_ROWS_PER_CODE) -> Page:
    """The front page of a model."""
    verdict = judge(model)
    return Page(
        model=model,
        verdict=verdict,
        chunks=_chunks(model.groups),
        codes=code_views(model, by_code(model.findings, model.finding_totals), rows_per_code),
        blocked=tuple(BlockedView(row, blocked_words(row)) for row in model.acks.rows[:MAX_BLOCKED_SHOWN]),
        exit_words=exit_words(model, verdict.grade),
    )


Judged = tuple[tuple[Grade, str], TopicSection]
"""A topic with the verdict on it, as `topic_line` makes it."""


def judged(sections: Iterable[TopicSection]) -> list[Judged]:
    """Topics with their verdicts, worst first, then largest."""
    lines = [(topic_line(section), section) for section in sections]
    return sorted(lines, key=lambda one: topic_order(*one))


def topic_order(line: tuple[Grade, str], section: TopicSection) -> tuple[object, ...]:
    """Where a topic stands among others: in the order of blocked subscriptions, then the worst, then the largest."""
    counts = by_outcome(section.groups)
    broken = sum(counts[name] for name in BROKEN)
    places = [one.blocked_place for one in section.acks.subscriptions if one.blocked_place is not None]
    blocked = (not section.acks.blocked, min(places, default=0))
    return GRADE_ORDER.index(line[0]), *blocked, -broken, -section.bytes, natural(section.topic or "")


def topic_view(model: ReportModel, at: int, line: tuple[Grade, str], section: TopicSection) -> TopicView:
    """A topic's section; `at` counts sections from 0, the worst topic's first."""
    return TopicView(
        section=section,
        anchor=f"topic-{at + 1}",
        unfolded=at < MAX_OPEN and line[0] in ("broken", "incomplete"),
        grade=line[0],
        line=line[1],
        timeline=timeline(section),
        chunks=_chunks(section.groups),
        ledgers=tuple(sorted(section.ledgers, key=_ledger_order)[:MAX_LEDGERS_SHOWN]),
        broken=tuple(sorted(section.broken, key=_broken_order)[:MAX_BROKEN_SHOWN]),
        codes=code_views(model, by_code(section.findings, section.finding_totals), MAX_ROWS_PER_TOPIC_CODE),
        subscriptions=_subscriptions(model, at, section),
        outcomes=columns(section.clients.forecasts),
        sentences=sentences(section.clients),
    )


def _subscriptions(model: ReportModel, at: int, section: TopicSection) -> tuple[SubscriptionView, ...]:
    shown = MAX_SUBSCRIPTIONS if at < MAX_OPEN else MAX_STRIPS_LATER
    acks = replace(section.acks, subscriptions=section.acks.subscriptions[:shown])
    return subscription_views(acks, section.topic or "", run_of(model))


def _ledger_order(ledger: LedgerFacts) -> tuple[bool, int]:
    """Damaged ones first, so that a cut never hides them."""
    return ledger.status not in ("damaged", "unreadable"), ledger.ledger_id


def _chunks(groups: Sequence[PublicationGroup]) -> ChunksView:
    states = by_state(groups)
    counts = by_outcome(groups)
    return ChunksView(
        total=sum(states.values()),
        bar=state_bar(groups),
        states=states,
        flags=by_flag(groups),
        rebuildable=rebuildable(groups),
        broken=sum(counts[name] for name in BROKEN),
    )


def code_views(model: ReportModel, groups: Sequence[CodeGroup], limit: int) -> tuple[CodeView, ...]:
    """Groups of findings with their commands, at most `limit` rows of each."""
    return tuple(
        CodeView(
            group=group,
            command=fill(group.kind.command, run_of(model), group.rows[0] if group.rows else None),
            all_command=all_findings(run_of(model), group.kind.code),
            shown=min(len(group.rows), limit),
        )
        for group in groups
    )


def _broken_order(row: PublicationRow) -> tuple[int, int, int, str, int]:
    name = row_outcome(row)
    rank = BROKEN.index(name) if name in BROKEN else len(BROKEN)
    ledger_id, entry_id = row["first_ledger_id"], row["first_entry_id"]
    place = (-1 if ledger_id is None else ledger_id, -1 if entry_id is None else entry_id)
    return rank, *place, row["chunk_uuid"], row["publish_time_ms"]


def span_words(row: PublicationRow) -> str:
    """First and last position of a publication: `22:0 to 22:5`."""
    first = position(row["first_ledger_id"], row["first_entry_id"])
    last = position(row["last_ledger_id"], row["last_entry_id"])
    if first is None or last is None:
        return first or last or "unknown"
    return first if first == last else f"{first} to {last}"


def missing_words(row: PublicationRow) -> str:
    """Which chunks and bytes are missing: `chunks 1, 3-5 of 8; bytes 100-200 of 900 (100 B)`.

    Chunk ids include both ends, byte ranges exclude their end.
    """
    if not row["missing_chunk_count"]:
        return "none"
    runs = _runs(row["missing_chunk_ids"])
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in runs[:MAX_RANGES]]
    rest = row["missing_chunk_count"] - sum(b - a + 1 for a, b in runs[:MAX_RANGES])
    if rest:
        shown.append(f"and {rest:,} more")
    noun = "chunk" if row["missing_chunk_count"] == 1 else "chunks"
    text = f"{noun} {', '.join(shown)} of {row['num_chunks']:,}"
    ranges = row["missing_bytes"]
    if ranges:
        size = sum(r["end"] - r["start"] for r in ranges)
        listed = ", ".join(f"{r['start']:,}-{r['end']:,}" for r in ranges[:MAX_RANGES])
        more = f" and {counted(len(ranges) - MAX_RANGES, 'more range')}" if len(ranges) > MAX_RANGES else ""
        text += f"; bytes {listed}{more} of {row['total_bytes']:,} ({byte_size(size)})"
    return text


def _runs(ids: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending ids as runs of neighbours, both ends included."""
    runs: list[tuple[int, int]] = []
    for chunk_id in sorted(set(ids)):
        if runs and chunk_id == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], chunk_id)
        else:
            runs.append((chunk_id, chunk_id))
    return runs


def topic_name(topic: str | None) -> str:
    """The topic made safe to show, or words where there is none."""
    return "(no topic: nothing names it)" if topic is None else visible(topic)
