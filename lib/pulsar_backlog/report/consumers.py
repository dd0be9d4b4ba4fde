"""What the verdict says of consumers: which subscriptions are stalled, and which clients the log stops or misleads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pulsar_backlog.counting import counted
from pulsar_backlog.foreign_text import visible
from pulsar_backlog.report.acks import Acks, BlockedRow
from pulsar_backlog.report.acks_view import MAY_BE_STALLED, STALLED, stands_at, stands_words
from pulsar_backlog.report.clients import DAMAGE_SHORT, ForecastRow, ModelSum, damage_words
from pulsar_backlog.report.facts import Fact
from pulsar_backlog.report.model import TopicSection
from pulsar_backlog.report.outcomes import known_sureness
from pulsar_backlog.report.words import SURENESS, byte_size, position

MAX_NAME = 120

STOPPED_CODES = frozenset({"C41", "C42", "C43"})
MISLED_CODES = frozenset({"C21", "C40"})
"""Codes of findings that the sentences about clients tell better."""

_BLOCKED_MEANING = (
    "Messages behind it are not delivered, or only some of them after a restart, and the backlog grows. The "
    "topic's section says what to do; where it says export, acknowledge nothing before the export."
)
_STOPPED_MEANING = (
    "Clients that read these topics from the start would behave so. Keep what an export holds of the entries "
    "that stop them, then acknowledge these; a restart helps only where permits ran out."
)
_MISLED_MEANING = (
    "The client reports no error. Compare what consumers received with an export of these messages, and export "
    "before anyone acknowledges or trims them."
)


_HOW = {"certain": "certain", "likely": "likely", "cannot_tell": "possible"}
_MISLEADS = ("mixed", "wrong_content", "silent_loss", "lost")


@dataclass(frozen=True)
class ConsumerFacts:
    """Facts about consumers, and the codes of findings that they tell.

    Attributes:
        urgent: what is stalled now, or will be; before all else.
        later: what clients do wrong without stalling.
    """

    urgent: tuple[Fact, ...] = ()
    later: tuple[Fact, ...] = ()
    covered: frozenset[str] = frozenset()


def consumer_facts(acks: Acks, models: Sequence[ModelSum]) -> ConsumerFacts:
    """What is to be said over all topics."""
    return ConsumerFacts((*_blocked(acks), *_stopped(models)), tuple(_misled(models)), _covered(models))


def topic_consumer_facts(section: TopicSection) -> ConsumerFacts:
    """What is to be said of one topic, whose name stands beside."""
    urgent: list[Fact] = []
    blocked = [one for one in section.acks.subscriptions if one.blocked_at]
    if blocked:
        first = blocked[0]
        if section.acks.blocked == 1:
            stands = stands_words(first.blocked_at, first.blocked_sureness)
            what = f"subscription {_name(first.row['subscription'])} {stands}"
        else:
            at = f"{_name(first.row['subscription'])}, {stands_at(first.blocked_at)}"
            by = section.acks.sureness or {known_sureness(first.blocked_sureness or ""): section.acks.blocked}
            what = f"{stalled_words(section.acks.blocked, by)}. Worst: {at}"
        urgent.append(Fact("blocked", what, None, "Whoever waits for it", _BLOCKED_MEANING))
    rows = section.clients.forecasts
    stopped = [row for row in rows if row["damage"]]
    if stopped:
        each = [f"{_name(row['model'])} {_short(row['damage'])} {_at(row)}" for row in stopped]
        urgent.append(Fact("broken", ", ".join(each), None, "Consumers", _STOPPED_MEANING))
    sums = [_sum_of(row) for row in rows]
    return ConsumerFacts(tuple(urgent), tuple(_misled(sums)), _covered(sums))


def _sum_of(row: ForecastRow) -> ModelSum:
    counts = {name: int(row[name]) for name in _MISLEADS}  # type: ignore[literal-required]
    return ModelSum(row["model"], counts, int(row["damage"] is not None))


def _at(row: ForecastRow) -> str:
    at = position(row["damage_ledger_id"], row["damage_entry_id"])
    return f"at {at}" if at else "somewhere"


def _short(damage: str | None) -> str:
    return DAMAGE_SHORT.get(damage or "", "is stopped")


def _covered(models: Sequence[ModelSum]) -> frozenset[str]:
    stopped = STOPPED_CODES if any(one.stopped for one in models) else frozenset()
    return stopped | (MISLED_CODES if any(map(_misleads, models)) else frozenset())


def _blocked(acks: Acks) -> list[Fact]:
    if not acks.blocked or not acks.rows:
        return []
    first = acks.rows[0]
    if acks.blocked == 1:
        what = f"subscription {_name(first.subscription)} of topic {_name(first.topic)} {blocked_words(first)}"
    else:
        what = f"{headline_of_blocked(acks)}{_waiting(first)}"
    sureness = sureness_words(acks.blocked, acks.sureness) if acks.blocked > 1 else SURENESS.get(first.sureness)
    return [Fact("blocked", what, sureness, "Whoever waits for it", _BLOCKED_MEANING)]


def blocked_words(row: BlockedRow) -> str:
    """Where it stands, and how much waits."""
    return f"{stands_words((row.ledger_id, row.entry_id), row.sureness)}{_waiting(row)}"


def _waiting(row: BlockedRow) -> str:
    if not row.backlog_entries:
        return ""
    size = f" ({byte_size(row.backlog_bytes)})" if row.backlog_bytes is not None else ""
    return f", {counted(row.backlog_entries, 'entry')}{size} {'waits' if row.backlog_entries == 1 else 'wait'}"


def headline_of_blocked(acks: Acks) -> str | None:
    """How many are stalled, how sure that is, and which is the worst; None without one."""
    if not acks.blocked or not acks.rows:
        return None
    first = acks.rows[0]
    if acks.blocked == 1:
        stands = f"{STALLED.get(first.sureness, MAY_BE_STALLED)} {stands_at((first.ledger_id, first.entry_id))}"
        return f"subscription {_name(first.subscription)} of topic {_name(first.topic)} {stands}"
    at = f"{_name(first.topic)}, {_name(first.subscription)}, {stands_at((first.ledger_id, first.entry_id))}"
    by = acks.sureness or {known_sureness(first.sureness): acks.blocked}
    return f"{stalled_words(acks.blocked, by)}. Worst: {at}"


def stalled_words(blocked: int, by: Mapping[str, int]) -> str:
    """`50 subscriptions are stalled (16 likely, 34 possible)`."""
    counts = {word: count for word, count in _by_sureness(blocked, by).items() if count > 0}
    who = counted(blocked, "subscription")
    if len(counts) > 1:
        return f"{who} are stalled ({', '.join(f'{count:,} {_HOW[word]}' for word, count in counts.items())})"
    words = STALLED.get(next(iter(counts), ""), MAY_BE_STALLED)
    return f"{who} {words if blocked == 1 else words.replace('is ', 'are ')}"


def sureness_words(blocked: int, by: Mapping[str, int]) -> str:
    """How sure it is of how many: `likely for 3, cannot tell for 2`."""
    counts = _by_sureness(blocked, by)
    listed = [word for word in SURENESS if counts[word]]
    if len(listed) == 1:
        return SURENESS[listed[0]]
    return ", ".join(f"{SURENESS[word]} for {counts[word]:,}" for word in listed)


def _by_sureness(blocked: int, by: Mapping[str, int]) -> dict[str, int]:
    """Of as many as are blocked; of what nothing is said it cannot be told."""
    counts = {word: by.get(word, 0) for word in SURENESS}
    counts["cannot_tell"] += blocked - sum(counts.values())
    return counts


def _stopped(models: Sequence[ModelSum]) -> list[Fact]:
    stopped = sorted((one for one in models if one.stopped), key=lambda one: (-one.stopped, one.model))
    if not stopped:
        return []
    worst = stopped[0]
    rest = ", ".join(f"{_name(one.model)} on {one.stopped:,}" for one in stopped[1:])
    what = f"{_name(worst.model)} clients stop on {counted(worst.stopped, 'topic')}"
    each = [
        f"{_name(one.model)} {damage_words(one.damage or '')} at {position(one.ledger_id, one.entry_id)} of "
        f"{_name(one.topic or '')}"
        for one in stopped
    ]
    meaning = f"The first for each: {'; '.join(each)}. {_STOPPED_MEANING}"
    what += f" ({rest})" if rest else ""
    return [Fact("broken", what, SURENESS.get(worst.sureness), "Consumers", meaning)]


def _misleads(model: ModelSum) -> bool:
    return any(model.counts.get(name) for name in _MISLEADS)


def _misled(models: Sequence[ModelSum]) -> list[Fact]:
    """The most that one client does, and what each does."""
    misled = [one for one in models if _misleads(one)]
    if not misled:
        return []
    lost = max(_lost(one.counts) for one in misled)
    garbled = max(_garbled(one.counts) for one in misled)
    parts = [f"deliver up to {counted(garbled, 'message')} garbled"] if garbled else []
    parts += [f"fail to deliver up to {counted(lost, 'whole message')}"] if lost else []
    each = [f"{_name(one.model)} {', '.join(_misled_words(one.counts))}" for one in misled]
    meaning = f"Of what is stored, {'; '.join(each)}. {_MISLED_MEANING}"
    what = f"clients would {' and '.join(parts)}, without an error"
    return [Fact("broken", what, None, "Whoever relies on received messages", meaning)]


def _garbled(counts: dict[str, int]) -> int:
    return counts.get("mixed", 0) + counts.get("wrong_content", 0)


def _lost(counts: dict[str, int]) -> int:
    return counts.get("silent_loss", 0) + counts.get("lost", 0)


def _misled_words(counts: dict[str, int]) -> list[str]:
    garbled, silent, lost = _garbled(counts), counts.get("silent_loss", 0), counts.get("lost", 0)
    words = [f"delivers {counted(garbled, 'message')} garbled"] if garbled else []
    words += [f"acknowledges {counted(silent, 'whole message')} without delivering"] if silent else []
    return words + ([f"leaves {counted(lost, 'whole message')} in the backlog"] if lost else [])


def _name(text: str) -> str:
    return visible(text, MAX_NAME)
