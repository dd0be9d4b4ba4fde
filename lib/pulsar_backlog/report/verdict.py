"""The verdict in words: what was found, how sure, what it means for whom, what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pulsar_backlog.counting import counted
from pulsar_backlog.foreign_text import visible
from pulsar_backlog.report.codes import CodeGroup, by_code
from pulsar_backlog.report.commands import Command, changes_of, fill, run_of
from pulsar_backlog.report.consumers import MAX_NAME, consumer_facts, headline_of_blocked, topic_consumer_facts
from pulsar_backlog.report.facts import Fact, facts, unread_fact
from pulsar_backlog.report.model import ReportModel, TopicSection
from pulsar_backlog.report.outcomes import sureness_of_broken
from pulsar_backlog.report.words import EXIT_CODES, SURENESS, severity_rank, spaced
from pulsar_backlog.report.worst import first_to_do
from pulsar_backlog.subscriptions.advice import Advice
from pulsar_backlog.terms import EXIT_CLEAN

MAX_STEPS = 6
MAX_REMEDIES = 6

_LEADS = {
    "sql": "This lists what these findings are about:",
    "explain": "This shows the entry that is named, field by field:",
    "export": "This takes out what these findings name, and verifies it:",
    "audit": "This audits again, with what was missing:",
    "inventory": "This lists what is stored without need:",
    "locate": "This finds where it lies:",
    "pulsar-admin": "This asks the broker:",
}
_LEADS_OF_SUBSCRIPTION = {
    "explain": "First look at the entry:",
    "export": "First export what can be had:",
    "repair": "Then make a plan, and read it:",
}

ERRORS = ("blocked", "broken", "undecoded")

Grade = Literal["broken", "incomplete", "odd", "clean", "nothing"]

LABELS: dict[Grade, str] = {
    "broken": "Errors found",
    "incomplete": "Not everything was read",
    "odd": "Warnings only",
    "clean": "Nothing wrong found",
    "nothing": "Nothing audited",
}


@dataclass(frozen=True)
class Remedy:
    """What to do about one code."""

    code: str
    name: str
    text: str


@dataclass(frozen=True)
class Step:
    """A command to type next, what it changes, and what it is for: a stalled subscription, or codes of findings."""

    command: str
    changes: str
    remedies: tuple[Remedy, ...] = ()
    topic: str | None = None
    subscription: str | None = None
    advice: Advice | None = None

    @property
    def lead(self) -> str:
        """What the command is for, in a sentence that it ends."""
        words = self.command.split()
        verb = words[1] if words[0] == "pulsar-backlog" else words[0]
        if self.subscription is not None:
            return _LEADS_OF_SUBSCRIPTION.get(verb, "Then:")
        return _LEADS.get(verb, "To go on:")


@dataclass(frozen=True)
class Verdict:
    """The answer, before any detail.

    Attributes:
        complete: False when something could not be read; then it never calls anything healthy.
        headline: one short sentence; the counts are in `facts`.
        sureness: how sure, one or two sentences.
        facts: all that the headline sums up, worst first.
        warnings: number of findings that are warnings.
    """

    grade: Grade
    complete: bool
    headline: str
    sureness: str
    facts: tuple[Fact, ...]
    warnings: int
    steps: tuple[Step, ...]

    @property
    def label(self) -> str:
        """The grade in words."""
        if self.grade == "broken" and not self.complete:
            return "Errors found, and not everything was read"
        return LABELS[self.grade]


def judge(model: ReportModel) -> Verdict:
    """The verdict on the whole audit."""
    codes = by_code(model.findings, model.finding_totals)
    consumers = consumer_facts(model.acks, model.clients)
    of_log = facts(
        model.groups, codes, rejected=model.counts.rejected, ledgers_not_ok=model.counts.ledgers_not_ok,
        quality=model.quality, covered=consumers.covered,
    )  # fmt: skip
    all_facts = (*consumers.urgent, *of_log, *consumers.later)
    complete = (
        model.exit_code != 4 and not any(f.kind == "unread" for f in all_facts) and not any(g.incomplete for g in codes)
    )
    if not complete and not any(f.kind in ("unread", "undecoded") for f in all_facts):
        all_facts = (*all_facts, unread_fact("something could not be read"))
    warnings = sum(g.findings for g in codes if g.severity == "warning")
    grade = _grade(model, all_facts, warnings)
    return Verdict(
        grade=grade,
        complete=complete,
        headline=_headline(model, grade, all_facts, warnings),
        sureness=_sureness(model, complete, {g.kind.code for g in codes}),
        facts=all_facts,
        warnings=warnings,
        steps=(*_of_worst(model), *_steps(model, codes))[:MAX_STEPS],
    )


def exit_words(model: ReportModel, grade: Grade) -> str:
    """The exit code, and why it is what it is: 0 does not mean that nothing was found."""
    if model.exit_code != EXIT_CLEAN or grade in ("clean", "nothing"):
        return f"{model.exit_code}: {EXIT_CODES.get(model.exit_code, 'unknown')}"
    if model.fail_on != "never":
        return f"0, because no finding reaches --fail-on {model.fail_on}"
    return f"0, because --fail-on never; {'warnings' if grade == 'odd' else 'errors'} were found"


def topic_line(section: TopicSection) -> tuple[Grade, str]:
    """The verdict on one topic, in a few words."""
    codes = by_code(section.findings, section.finding_totals)
    not_ok = sum(ledger.status in ("damaged", "unreadable") for ledger in section.ledgers)
    consumers = topic_consumer_facts(section)
    of_log = facts(section.groups, codes, rejected=section.rejected, ledgers_not_ok=not_ok, covered=consumers.covered)
    all_facts = (*consumers.urgent, *of_log, *consumers.later)
    listed = _joined(all_facts)
    if any(f.kind in ERRORS for f in all_facts):
        return "broken", listed
    if any(f.kind == "unread" for f in all_facts):
        return "incomplete", listed
    warnings = sum(g.findings for g in codes if g.severity == "warning")
    if warnings:
        return "odd", ", ".join(filter(None, [counted(warnings, "warning"), listed]))
    return "clean", listed or "nothing wrong found"


def _grade(model: ReportModel, facts: Sequence[Fact], warnings: int) -> Grade:
    if not model.counts.entries and not model.counts.rejected and not model.counts.ledgers:
        return "nothing"
    if any(f.kind in ERRORS for f in facts):
        return "broken"
    if any(f.kind == "unread" for f in facts):
        return "incomplete"
    return "odd" if warnings or any(not row["passed"] for row in model.quality) else "clean"


def _headline(model: ReportModel, grade: Grade, facts: Sequence[Fact], warnings: int) -> str:
    read = f"{counted(model.counts.topics, 'topic')}, {counted(model.counts.entries, 'entry')}"
    arriving = _joined([f for f in facts if f.kind == "arriving"])
    unread = _joined([f for f in facts if f.kind == "unread"])
    if grade == "nothing":
        text = ", ".join(filter(None, ["nothing was audited: no ledger was found", unread]))
    elif grade == "broken":
        stalled = headline_of_blocked(model.acks)
        parts = [stalled, unread] if stalled else [_worst_error(model, facts, unread), _worst_waiting(model)]
        text = ". ".join(f"{part[0].upper()}{part[1:]}" for part in parts if part)
    elif grade == "incomplete":
        text = f"{unread}; in the rest ({read}) no error was found"
    elif grade == "odd":
        reason = counted(warnings, "warning") if warnings else "data-quality rules gave warnings"
        text = f"no error was found in {read}, but {reason}"
    else:
        text = f"nothing wrong was found in {read}"
    if arriving and grade != "broken":
        text += f"; {arriving}"
    return " ".join([f"{text[0].upper()}{text[1:]}.", *model.earlier.sentences(model.started_ms)])


def _worst_error(model: ReportModel, facts: Sequence[Fact], unread: str) -> str:
    """The worst error, where there is one topic, and how sure; always with what was not decoded or not read."""
    broken = [f for f in facts if f.kind == "broken"]
    parts = [f"{f.what} ({f.sureness})" if f.sureness else f.what for f in broken[:1]]
    parts += [f.what for f in facts if f.kind == "undecoded"]
    parts += [unread] if unread else []
    if len(broken) > 1:
        parts.append(f"and {counted(len(broken) - 1, 'other kind')} of error")
    topics = {section.topic for section in model.topics if section.topic}
    where = f"topic {visible(topics.pop(), MAX_NAME)}: " if model.counts.topics == len(topics) == 1 else ""
    return where + ", ".join(parts)


def _worst_waiting(model: ReportModel) -> str:
    """The subscription with most chunk sets that something must be done about, where none is stalled."""
    for one in first_to_do(model, run_of(model))[:1]:
        sets = counted(one.advice.sets_to_do, "chunk set")
        return (
            f"Subscription {visible(one.subscription, MAX_NAME)} of topic {visible(one.topic, MAX_NAME)} keeps {sets}"
        )
    return ""


def _joined(facts: Sequence[Fact]) -> str:
    return _after_blocked(facts, ", ".join(f.what for f in facts if f.kind != "blocked"))


def _after_blocked(facts: Sequence[Fact], text: str) -> str:
    """What is stalled comes first, as a sentence of its own."""
    sentences = [f.what for f in facts if f.kind == "blocked"] + ([text] if text else [])
    return ". ".join([*sentences[:1], *(f"{one[0].upper()}{one[1:]}" for one in sentences[1:])])


def _sureness(model: ReportModel, complete: bool, codes: set[str]) -> str:
    counts = sureness_of_broken(model.groups)
    listed = [f"{SURENESS[name]} for {counts[name]:,}" for name in SURENESS if counts[name]]
    if listed:
        text = f"How sure, of broken messages: {', '.join(listed)}."
    else:
        text = "How sure: certain, for what was read." if complete else "How sure: only what was read can be judged."
    if not complete:
        text += " What was not read may hold more."
    if codes & {"S15", "S16"}:
        text += " The broker knows ledgers that are not in this audit."
    return text


def _of_worst(model: ReportModel) -> Iterator[Step]:
    """What to do about the worst subscription; where that takes a decision, also what puts the next right."""
    for one in first_to_do(model, run_of(model)):
        for command in one.commands:
            yield Step(command.text, command.changes, (), one.topic, one.subscription, one.advice)


def _steps(model: ReportModel, codes: Sequence[CodeGroup]) -> Iterator[Step]:
    """Commands in the order of urgency; codes that need the same command share a step."""
    remedies: dict[Command, list[Remedy]] = {}
    for group in codes:
        if severity_rank(group.severity) <= 1:
            first = group.rows[0] if group.rows else None
            text = fill(group.kind.command, run_of(model), first)
            command = Command(text, changes_of(group.kind.command))
            remedies.setdefault(command, []).append(Remedy(group.kind.code, spaced(group.kind.name), group.kind.remedy))
    for command, of in remedies.items():
        yield Step(command.text, command.changes, tuple(of[:MAX_REMEDIES]))
