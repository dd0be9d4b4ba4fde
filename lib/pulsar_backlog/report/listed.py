"""One line about each topic, subscription and finding: what lists are made of, and what the search knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from pulsar_backlog.counting import counted
from pulsar_backlog.foreign_text import visible
from pulsar_backlog.json_text import to_json
from pulsar_backlog.report.acks import ListedSubscription
from pulsar_backlog.report.acks_view import MAY_BE_STALLED, STALLED
from pulsar_backlog.report.codes import in_order
from pulsar_backlog.report.model import FindingRow, ListedTopic, ReportModel
from pulsar_backlog.report.outcomes import known_sureness, sureness_of_broken
from pulsar_backlog.report.places import NOWHERE, Place
from pulsar_backlog.report.scalable import ScalableTopic, scalable_grade, scalable_line
from pulsar_backlog.report.verdict import Grade
from pulsar_backlog.report.views import GRADE_ORDER, Judged, topic_order
from pulsar_backlog.report.words import SURENESS, natural

MAX_NAME, MAX_WORDS = 120, 160
"""Characters of a name and of a sentence that the search holds."""

_OF_SEVERITY: Mapping[str, Grade] = {"error": "broken", "warning": "odd"}


@dataclass(frozen=True)
class TopicLine:
    """A topic in one line; its place is None where it has no section."""

    topic: str | None
    grade: Grade
    line: str
    sureness: str | None
    entries: int
    bytes: int
    place: Place | None
    order: tuple[object, ...] = field(repr=False)


@dataclass(frozen=True)
class SubscriptionLine:
    """A subscription in one line."""

    topic: str
    subscription: str
    grade: Grade
    words: str
    sureness: str | None
    entries: int | None


def topic_with_section(one: Judged, place: Place) -> TopicLine:
    """The line of a topic that has a section."""
    (grade, line), section = one
    counts: Counter[str] = Counter(section.acks.sureness)
    counts.update(sureness_of_broken(section.groups))
    sureness = next((word for word in SURENESS if counts[word]), None)
    return TopicLine(
        section.topic, grade, line, sureness, section.entries, section.bytes, place, topic_order(*one)
    )  # fmt: skip


def topic_without_section(one: ListedTopic) -> TopicLine:
    """The line of a topic beyond those that have sections."""
    grade: Grade = "broken" if one.errors else "nothing"
    line = f"{counted(one.errors, 'error')}, see the table findings" if one.errors else "no error; not drawn here"
    order = (GRADE_ORDER.index(grade), True, 0, 0, -one.bytes, natural(one.topic or ""))
    return TopicLine(one.topic, grade, line, None, one.entries, one.bytes, None, order)


def scalable_topic_line(topic: ScalableTopic, place: Place) -> TopicLine:
    """The line of a scalable topic."""
    grade = scalable_grade(topic)
    order = (GRADE_ORDER.index(grade), True, 0, 0, -topic.bytes, natural(topic.topic))
    return TopicLine(topic.topic, grade, scalable_line(topic), None, topic.entries, topic.bytes, place, order)


def subscription_line(one: ListedSubscription) -> SubscriptionLine:
    """The line of a subscription; how much waits is a number of its own."""
    grade: Grade
    sureness = None
    if one.blocked_at:
        sureness = known_sureness(one.blocked_sureness or "")
        grade, words = "broken", f"{STALLED.get(sureness, MAY_BE_STALLED)} at {one.blocked_at[0]}:{one.blocked_at[1]}"
    elif one.backlog_entries is None:
        grade, words = "incomplete", "what is acknowledged is not known"
    elif one.stalls:
        grade, words = "odd", f"{counted(one.stalls, 'chunk set')} to do something about"
    else:
        grade, words = "clean", "not stalled"
    return SubscriptionLine(one.topic, one.subscription, grade, words, sureness, one.backlog_entries)


def search_data(
    topics: Sequence[TopicLine], subscriptions: Iterable[SubscriptionLine], model: ReportModel, room_bytes: int
) -> Markup:
    """What the search looks through, as JSON for a script element: as much as there is room for, topics first.

    It holds no `<`, so that nothing in it can end the element.
    """
    numbers = {line.topic: at for at, line in enumerate(topics)}
    rows: dict[str, list[str]] = {"topics": [], "subscriptions": [], "findings": []}
    values = (
        ("topics", (_topic(line) for line in topics)),
        ("subscriptions", (_subscription(line, numbers) for line in subscriptions)),
        ("findings", (_finding(row, numbers) for row in in_order(model.findings, model.finding_totals))),
    )
    for kind, of_kind in values:
        for value in of_kind:
            text = to_json(value, compact=True).replace("<", "\\u003c")
            room_bytes -= len(text) + 1
            if room_bytes < 0:
                break
            rows[kind].append(text)
    all_of = [
        model.counts.topics + model.scalable.total,
        model.acks.total,
        sum(total.findings for total in model.finding_totals),
    ]
    parts = [f'"{kind}":[{",".join(texts)}]' for kind, texts in rows.items()]
    return Markup("{" + ",".join([*parts, f'"all":{to_json(all_of, compact=True)}']) + "}")  # noqa: S704 - no < in it


def _topic(line: TopicLine) -> list[object]:
    name = None if line.topic is None else visible(line.topic, MAX_NAME)
    words = visible(line.line, MAX_WORDS)
    return [name, *_judged(line.grade, words, line.sureness), line.entries, *(line.place or NOWHERE)]


def _subscription(line: SubscriptionLine, numbers: Mapping[str | None, int]) -> list[object]:
    name = visible(line.subscription, MAX_NAME)
    return [name, *_judged(line.grade, line.words, line.sureness), line.entries, numbers.get(line.topic, -1)]


def _finding(row: FindingRow, numbers: Mapping[str | None, int]) -> list[object]:
    grade: Grade = "incomplete" if row["incomplete"] else _OF_SEVERITY.get(row["severity"], "clean")
    name = f"{visible(row['code'], 40)} {visible(row['subject'], MAX_NAME)}"
    topic = numbers.get(row["topic"], -1) if row["topic"] else -1
    words = visible(row["message"], MAX_WORDS)
    return [name, *_judged(grade, words, known_sureness(row["sureness"])), row["count"], topic]


def _judged(grade: Grade, words: str, sureness: str | None) -> tuple[int, str, int]:
    """As the script numbers grades and sureness; -1 where nothing is said of how sure it is."""
    return GRADE_ORDER.index(grade), words, -1 if sureness is None else list(SURENESS).index(sureness)
