"""Subscriptions for the page: their facts in words, what to do about their chunk sets, and the next command."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pulsar_backlog.counting import counted
from pulsar_backlog.foreign_text import visible
from pulsar_backlog.options.printed import Run
from pulsar_backlog.report.acks import StallRow, SubscriptionFacts, SubscriptionRow, TopicAcks
from pulsar_backlog.report.commands import Command, remedies
from pulsar_backlog.report.growth import GrowthRow, change_words, course_words, is_news
from pulsar_backlog.report.outlook import Outlook
from pulsar_backlog.report.strips import Strip, strip
from pulsar_backlog.report.words import byte_size, position, utc_time
from pulsar_backlog.subscriptions.advice import Need
from pulsar_backlog.terms import Position, position_text


@dataclass(frozen=True)
class Todo:
    """Chunk sets that need the same, those told in the same words together, and the commands that do it, in order."""

    need: Need
    alike: tuple[tuple[StallRow, ...], ...]
    commands: tuple[Command, ...]


@dataclass(frozen=True)
class SubscriptionView:
    """A subscription on the page; its facts are name and text."""

    facts: SubscriptionFacts
    type: str
    backlog: str
    strip: Strip | None
    details: tuple[tuple[str, str], ...]
    todo: tuple[Todo, ...]
    stands: str | None
    course: str | None

    @property
    def unlisted(self) -> int:
        """Chunk sets that are counted but not listed."""
        return self.facts.stall_total - len(self.facts.stalls)


def subscription_views(acks: TopicAcks, topic: str, run: Run) -> tuple[SubscriptionView, ...]:
    """The subscriptions of a topic that are drawn."""
    return tuple(
        SubscriptionView(
            facts=facts,
            type=type_words(facts.row),
            backlog=backlog_words(facts.row),
            strip=strip(acks.axis, facts),
            details=(*details(facts.row), *_growth_details(facts.growth), *_outlook(facts.outlook)),
            todo=todo(facts, topic, run),
            stands=stands_words(facts.blocked_at, facts.blocked_sureness),
            course=course_words(facts.growth) if facts.growth and is_news(facts.growth) else None,
        )
        for facts in acks.subscriptions
    )


def type_words(row: SubscriptionRow) -> str:
    """What kind of subscription or cursor it is."""
    if row["kind"] == "reader":
        return "a reader's, which ends with its connection"
    if row["kind"] != "subscription":
        return f"the broker's own cursor for {visible(row['kind'], 40)}"
    return visible(row["subscription_type"] or "type not known", 40)


def place_words(ledger_id: int | None, entry_id: int | None) -> str:
    """A cursor's position; entry -1 is before the first one."""
    if ledger_id is not None and entry_id == -1:
        return f"before {ledger_id}:0"
    return position(ledger_id, entry_id) or "unknown"


def backlog_words(row: SubscriptionRow) -> str:
    """What it has not acknowledged, in one line."""
    if row["backlog_entries"] is None:
        return f"Nobody knows what is acknowledged: {visible(row['reason'])}"
    if not row["backlog_entries"]:
        return "Everything stored is acknowledged"
    backlog = _amount(row["backlog_entries"], row["backlog_messages"], row["backlog_bytes"])
    holes = f", in {counted(row['holes'], 'hole')}" if row["holes"] else ""
    follows = (
        " and after the last acknowledged entry" if holes and row["backlog_entries"] != row["hole_entries"] else ""
    )
    return f"{backlog} not acknowledged{holes}{follows}"


STALLED = {"certain": "is stalled", "likely": "is most likely stalled"}
"""How a stall is told, by its sureness."""
MAY_BE_STALLED = "may be stalled"


def stands_at(at: Position | None) -> str:
    """`at 24:3`."""
    return f"at {position_text(at)}" if at else "somewhere"


def stands_words(at: Position | None, sureness: str | None) -> str | None:
    """`is stalled at 24:3: nothing behind it is delivered`, as sure as it is; None when it is not blocked."""
    if at is None:
        return None
    return f"{STALLED.get(sureness or '', MAY_BE_STALLED)} {stands_at(at)}: nothing behind it is delivered"


def details(row: SubscriptionRow) -> Iterable[tuple[str, str]]:
    """Facts of a subscription as name and text."""
    if row["backlog_entries"] is None:
        yield "State", f"unknown: {visible(row['reason'])}"
        return
    yield "Backlog", _amount(row["backlog_entries"], row["backlog_messages"], row["backlog_bytes"])
    yield from _held_up(row)
    if row["unstored_entries"]:
        yield "Backlog not stored here", counted(row["unstored_entries"], "entry")
    yield "Mark-delete", place_words(row["mark_delete_ledger_id"], row["mark_delete_entry_id"])
    yield "Next read", place_words(row["read_ledger_id"], row["read_entry_id"])
    oldest = position(row["oldest_unacked_ledger_id"], row["oldest_unacked_entry_id"])
    if oldest:
        yield "Oldest unacknowledged", f"{oldest}, {visible(row['oldest_unacked_what'] or 'message', 60)}"
        yield from _times_of_oldest(row)
    yield "Holes", _holes(row)
    yield "State size", _state_size(row)
    yield from _predictions(row)


def _times_of_oldest(row: SubscriptionRow) -> Iterable[tuple[str, str]]:
    """By both clocks, where they are known: a producer's may be wrong."""
    published, added = row["oldest_unacked_ms"], row["oldest_unacked_broker_ms"]
    if published is not None:
        yield "It was published", f"{utc_time(published)}, by the producer's clock"
    if added is not None:
        yield "The broker added it", utc_time(added)


def _growth_details(growth: GrowthRow | None) -> Iterable[tuple[str, str]]:
    if growth is None:
        return
    change = change_words(growth)
    if change is not None:
        yield "Backlog since the night before", change
    if not is_news(growth):
        yield "Backlog over the nights", course_words(growth)


def _held_up(row: SubscriptionRow) -> Iterable[tuple[str, str]]:
    for reason in row["holdups"] or ():
        words = visible(reason["kind"], 40).replace("_", " ")
        sure = "" if reason["sureness"] == "certain" else f" ({visible(reason['sureness'], 40).replace('_', ' ')})"
        yield "Held up", f"{words}{sure}: {visible(reason['evidence'])}. {visible(reason['advice'], 600)}"


def _outlook(outlook: Outlook | None) -> Iterable[tuple[str, str]]:
    """What `forecast` says, then what each remedy that was tried delivers, leaves and loses."""
    if outlook is None:
        return
    is_saved = outlook.consumers_from == "saved"
    whose = "as they were connected" if is_saved else "assumed: no saved state names the clients"
    yield "Forecast", visible(outlook.verdict, 600)
    who = f"{counted(outlook.entries, 'entry')} and these consumers, which connect again: {visible(outlook.consumers)}"
    yield "Forecast of", f"{who} ({whose}); {outlook.broker}"
    for stage in outlook.stages:
        name = "When they have connected" if stage["event"] == "connect" else f"Remedy: {visible(stage['event'], 40)}"
        yield name, visible("; ".join(stage["words"]), 600)


def _amount(entries: int, messages: int | None, size_bytes: int | None) -> str:
    parts = [counted(entries, "entry")]
    parts += [] if messages is None else [counted(messages, "message")]
    parts += [] if size_bytes is None else [byte_size(size_bytes)]
    return ", ".join(parts)


def _holes(row: SubscriptionRow) -> str:
    text = f"{counted(row['holes'] or 0, 'hole')}"
    if row["holes"]:
        text += f" of {counted(row['hole_entries'] or 0, 'entry')}"
    return f"{text}, {counted(row['batch_holes'], 'batch')} in part" if row["batch_holes"] else text


def _state_size(row: SubscriptionRow) -> str:
    forms = {"as ranges": row["ranges_bytes"], "as long arrays": row["long_array_bytes"]}
    listed = ", ".join(f"{byte_size(size)} {form}" for form, size in forms.items() if size is not None)
    stored = row["state_bytes"]
    if stored is None:
        return listed or "unknown"
    encoding = f" ({visible(row['encoding'], 20).replace('_', ' ')})" if row["encoding"] else ""
    return f"stored {byte_size(stored)}{encoding}; {listed}" if listed else f"stored {byte_size(stored)}{encoding}"


def _predictions(row: SubscriptionRow) -> Iterable[tuple[str, str]]:
    again = row["redelivered_entries"]
    if again is not None:
        size = f", {byte_size(row['redelivered_bytes'])}" if row["redelivered_bytes"] is not None else ""
        place = row["redelivered_from"]
        from_ = f", from {place['ledger_id']}:{place['entry_id']}" if place else ""
        amount = f"{counted(again, 'entry')}{size}{from_}" if again else "nothing"
        yield "Redelivered if the broker restarts now", amount
    if row["over_limits"]:
        limits = ", ".join(visible(limit, 40).replace("_", " ") for limit in row["over_limits"])
        dropped = counted(row["dropped_entries"] or 0, "acknowledged entry")
        doubt = " (assumed: no settings of its brokers were saved)" if row["limits_from"] == "assumed" else ""
        yield "Over the broker's limits", f"{limits}{doubt}; the next persist drops {dropped}"
    if row["rollback_ledger_id"] is not None:
        back = place_words(row["rollback_ledger_id"], row["rollback_entry_id"])
        size = f" ({byte_size(row['rollback_bytes'])})" if row["rollback_bytes"] else ""
        again_then = counted(row["rollback_entries"] or 0, "entry")
        yield "If its cursor ledger is lost", f"back to {back}, {again_then}{size} again"


def todo(facts: SubscriptionFacts, topic: str, run: Run) -> tuple[Todo, ...]:
    """Its chunk sets by what to do, the most urgent first, each with its commands."""
    by_need: dict[Need, list[StallRow]] = {}
    for stall in facts.stalls:
        by_need.setdefault(stall["need"], []).append(stall)
    order = [one.need for one in facts.advice.needs]
    return tuple(
        Todo(need, _alike(by_need[need]), commands_for(facts, need, topic, run)) for need in order if need in by_need
    )


def commands_for(facts: SubscriptionFacts, need: Need, topic: str, run: Run) -> tuple[Command, ...]:
    """What does about a subscription's chunk sets what they need."""
    places = [first for stall in facts.stalls if stall["need"] == need and (first := first_unacked(stall))]
    return remedies(need, run, topic, facts.row["subscription"], places, facts.advice.accepted)


def _alike(stalls: Iterable[StallRow]) -> tuple[tuple[StallRow, ...], ...]:
    """Chunk sets of which every word but the place is the same, together."""
    same: dict[tuple[object, ...], list[StallRow]] = {}
    for stall in stalls:
        key = tuple(stall[name] for name in ("code", "kind", "advice", "sureness", "reason"))
        same.setdefault(key, []).append(stall)
    return tuple(map(tuple, same.values()))


def first_unacked(stall: StallRow) -> Position | None:
    """Its first entry that is not acknowledged."""
    at = stall["unacked_positions"][0] if stall["unacked_positions"] else None
    return (at["ledger_id"], at["entry_id"]) if at else None


def where(stall: StallRow) -> str:
    """The positions of a chunk set that are not acknowledged: `24:3` or `24:3 and 5 more entries`."""
    first = stall["unacked_positions"][:1]
    rest = stall["unacked_entries"] - len(first)
    return "".join(f"{p['ledger_id']}:{p['entry_id']}" for p in first) + (
        f" and {counted(rest, 'more entry')}" if rest > 0 else ""
    )
