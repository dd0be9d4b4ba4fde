"""A forecast in words, and as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pulsar_backlog.chunks.dispatch.brokers import PlayedBroker
from pulsar_backlog.chunks.dispatch.forecast import Stage
from pulsar_backlog.chunks.dispatch.remedies import Remedy
from pulsar_backlog.foreign_text import visible

MOST_NAMED = 5
_REMEDIES = {
    "unload": "unload the topic",
    "restart": "let all consumers leave, then come back (a rolling restart does not do it)",
    "queue 10": "set the receiver queues to 10 or more",
    "queue 1000": "set the receiver queues to 1,000, the default",
    "broker 4.2": "upgrade the broker to 4.2",
    "without rust": "let no Rust client read the subscription: it takes each chunk for a message",
    "ack timeout": "let an ack timeout ask again instead of negative acknowledgements",
}


def forecast_rows(
    stages: Sequence[Stage], broker: PlayedBroker, remedy: Remedy | None = None, tried: Sequence[Remedy] = ()
) -> Iterator[dict[str, Any]]:
    """The verdict, then a row for each stage and for each remedy that was tried."""
    yield {
        "verdict": verdict_line(stages, remedy, tried),
        "remedy": remedy.name if remedy else None,
        "broker": broker.line,
        "broker_from": broker.line_from,
        "read_batches": list(broker.read_batches),
        "read_batches_from": broker.batch_from,
    }
    yield from stage_rows(stages)
    for one in tried:
        yield from stage_rows([one.stage], remedy=one.name)


def stage_rows(stages: Sequence[Stage], remedy: str | None = None) -> Iterator[dict[str, Any]]:
    """One row for each stage."""
    for stage in stages:
        yield {
            **({"remedy": remedy} if remedy else {}),
            "event": stage.event or "connect",
            "plays": sum(stage.prediction.outcomes.values()),
            "outcomes": len(stage.prediction.outcomes),
            "delivered_least": stage.delivered[0],
            "delivered_most": stage.delivered[1],
            "backlog_least": stage.certain.backlog[0],
            "backlog_most": stage.certain.backlog[1],
            "undelivered": list(stage.undelivered),
            "acknowledged_undelivered": list(stage.eaten),
            "perhaps_acknowledged_undelivered": list(stage.endangered),
            "dead_letters_least": stage.dead_letters[0],
            "dead_letters_most": stage.dead_letters[1],
        }


def verdict_line(stages: Sequence[Stage], remedy: Remedy | None = None, tried: Sequence[Remedy] = ()) -> str:
    """The answer: whether it drains, what is lost, and what helps."""
    stage = stages[-1]
    least, most = stage.certain.backlog
    lost = len(stage.eaten)
    after = f"After {visible(stage.event)}: " if stage.event else ""
    if most == 0:
        text = f"{after}it drains" if not lost else f"{after}it drains, but {_count(lost)} lost"
    elif least > 0:
        text = f"{after}it does not drain: {_span((least, most), 'entry stays', 'entries stay')}"
        text += f", and {_count(lost)} lost" if lost else ""
    else:
        text = (
            f"{after}it may not drain: up to {most:,} {'entry stays' if most == 1 else 'entries stay'}; timing decides"
        )
    if stage.endangered:
        text += f"; {len(stage.endangered):,} more may be lost"
    if stage.event and not _changes(stages[-2], stage):
        text += f". {visible(stage.event).capitalize()} frees nothing"
    return f"{text[0].upper()}{text[1:]}.{_remedy_words(stage, remedy, tried)}"


def _changes(before: Stage, after: Stage) -> bool:
    return (before.certain.backlog, before.undelivered) != (after.certain.backlog, after.undelivered)


def _remedy_words(stage: Stage, remedy: Remedy | None, tried: Sequence[Remedy]) -> str:
    if remedy is not None:
        staying = _span(remedy.stage.certain.backlog, "entry stays", "entries stay")
        return f" Best remedy: {_REMEDIES.get(remedy.name, visible(remedy.name))}; then {staying}."
    if not tried:
        return ""
    names = ", ".join(visible(one.name) for one in tried)
    return (
        f" None of these frees more for certain: {names}. What no play delivers can only be exported and acknowledged."
    )


def _count(messages: int) -> str:
    return f"{messages:,} {'message is' if messages == 1 else 'messages are'}"


def forecast_lines(stages: Sequence[Stage], entries: int, dispatch: str, broker: str) -> Iterator[str]:
    """What is likely, stage by stage, of a broker in words; print `verdict_line` first."""
    yield f"{entries:,} unacknowledged entries, {dispatch}, {broker}; the consumers connect to the saved state."
    for stage in stages:
        plays = sum(stage.prediction.outcomes.values())
        agreed = "all plays agree" if stage.prediction.sharp else f"{len(stage.prediction.outcomes)} different outcomes"
        yield f"After {visible(stage.event) if stage.event else 'they have connected'} ({plays} plays, {agreed}):"
        yield from (f"    {words}" for words in stage_words(stage))
    yield "Pins and permits of the running broker are in no saved state: consumers that are connected now may get less."


def stage_words(stage: Stage) -> Iterator[str]:
    """What a stage delivers, leaves and loses."""
    staying = _span(stage.certain.backlog, "entry stays", "entries stay")
    yield f"{_span(stage.delivered, 'delivery', 'deliveries')}; {staying}"
    if stage.dead_letters[1]:
        yield f"{_span(stage.dead_letters, 'message goes', 'messages go')} to the dead-letter topic"
    if stage.undelivered:
        yield f"never delivered in any play: {_named(stage.undelivered)}"
    if stage.eaten:
        yield f"acknowledged though never delivered, in every play: {_named(stage.eaten)}"
    if stage.endangered:
        yield f"acknowledged though never delivered, in some plays: {_named(stage.endangered)}"


def _span(ends: tuple[int, int], one: str, many: str) -> str:
    least, most = ends
    if least == most:
        return f"{least:,} {one if least == 1 else many}"
    return f"{least:,} to {most:,} {many}"


def _named(labels: Sequence[str]) -> str:
    rest = f" and {len(labels) - MOST_NAMED:,} more" if len(labels) > MOST_NAMED else ""
    return ", ".join(visible(label) for label in labels[:MOST_NAMED]) + rest
