"""Recorded cells as settings and outcomes of `chunks.dispatch`."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulsar_backlog.chunks.dispatch.outcomes import Outcome
from pulsar_backlog.chunks.dispatch.settings import ConsumerSettings, Setting, Slice, Step, client_named

ALL_ENTRIES = 1_000_000
"""More than any topic here has."""

_TOKEN = re.compile(r"(?P<label>\D+)(?P<chunk>\d+)(?:/(?P<chunks>\d+))?$")
_OPTIONS = {
    "queue": "queue", "hold": "hold", "maxPending": "max_pending", "autoAck": "auto_ack", "expireMs": "expiry_ms",
    "nackDelayMs": "nack_delay_ms", "ackTimeoutMs": "ack_timeout_ms", "dlqMax": "dead_letter_max",
    "dlqTopic": "dead_letter_topic", "retryTopic": "retry_topic", "dlqChunking": "dead_letter_chunking",
    "policy": "policy", "retry": "retries", "enableRetry": "retries", "retryEnable": "retries",
}  # fmt: skip
_RANGES = ("sticky", "ranges", "keyRanges")
_NAMES = ("client", "name")
_POLICY_WORDS = ("default", "slowMs")


@dataclass(frozen=True)
class Cell:
    """One setting on one broker with the outcomes of its repeats.

    Attributes:
        setting: None where it holds what there is no model of; `fault` says what.
    """

    name: str
    scenario: str
    setting: Setting | None
    outcomes: list[Outcome]
    fault: str = ""


def read_cells(corpus: Path, only: str = "") -> Iterator[Cell]:
    """All cells of a folder, by name."""
    for path in sorted((corpus / "runs").glob("*.json.gz")):
        name = path.name.removesuffix(".json.gz")
        if only in name:
            cell = json.loads(gzip.decompress(path.read_bytes()))
            outcomes = [outcome_of(run["outcome"]) for run in cell["runs"]]
            try:
                yield Cell(name, cell["scenario"], setting_of(cell), outcomes)
            except (KeyError, ValueError, TypeError) as error:
                yield Cell(name, cell["scenario"], None, outcomes, str(error))


def setting_of(cell: Mapping[str, Any]) -> Setting:
    """What was set up and done."""
    first = cell["runs"][0]
    messages = first.get("messages", {})
    _refuse("setting", cell.get("other_settings") or {}, ("messages",))
    for raw in cell["consumers"].values():
        _refuse("policy", raw.get("policy", {}), (*_POLICY_WORDS, *messages))
    chunks = {label: message.get("chunks") or 1 for label, message in messages.items()}
    steps: list[Step] = []
    for raw in cell["steps"]:
        if raw[0] == "create" and any(step.verb in ("publish", "produce") for step in steps):
            steps.append(Step("begin"))  # a subscription made now begins behind what is stored
        steps.extend(_steps(raw, chunks, cell))
    return Setting(
        broker="4.0" if cell["broker"].startswith("4.0") else "4.2",
        dispatch=cell["subscription_type"],
        consumers={name: _consumer(raw) for name, raw in cell["consumers"].items()},
        steps=tuple(steps),
        keys=_sticky_keys(first),
        sizes={label: message.get("size", 0) for label, message in messages.items()},
        topic=cell.get("topic") or "",
    )


def _refuse(what: str, names: Iterable[str], known: Iterable[str]) -> None:
    """What there is no model of is not predicted."""
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise ValueError(f"no model of the {what} {', '.join(map(repr, unknown))}")


def _sticky_keys(run: Mapping[str, Any]) -> dict[str, str]:
    """By label: the message's key, or as brokers do where it has none, its producer and sequence id."""
    keys: dict[str, str] = {}
    for label, message in run.get("messages", {}).items():
        if message.get("key"):
            keys[label] = message["key"]
        elif message.get("producer") and message.get("sequence_id") is not None:
            keys[label] = f"{message['producer']}-{message['sequence_id']}"
    return keys


def _consumer(raw: Mapping[str, Any]) -> ConsumerSettings:
    _refuse("consumer setting", raw, (*_OPTIONS, *_RANGES, *_NAMES))
    options = {name: raw[key] for key, name in _OPTIONS.items() if key in raw}
    ranges: Any = next((raw[key] for key in _RANGES if raw.get(key)), [])
    if "retryTopic" in raw:
        options["retries"] = True
    return ConsumerSettings(client_named(raw["client"]), key_ranges=tuple(map(_range, _pairs(ranges))), **options)


def _pairs(ranges: Any) -> list[Any]:
    """Ranges, of which one alone may stand without a list around it."""
    alone = isinstance(ranges, str | Mapping) or (bool(ranges) and all(isinstance(end, int) for end in ranges))
    return [ranges] if alone else list(ranges)


def _range(raw: Any) -> tuple[int, int]:
    """`[0, 9]`, `"0-9"` or `{"start": 0, "end": 9}`."""
    if isinstance(raw, Mapping):
        return int(raw["start"]), int(raw["end"])
    first, last = raw.split("-") if isinstance(raw, str) else raw
    return int(first), int(last)


def _steps(raw: list[Any], chunks: Mapping[str, int], cell: Mapping[str, Any]) -> Iterator[Step]:
    verb, what = raw[0], raw[1:]
    if verb == "pub":
        counts = dict(chunks)
        yield Step("publish", tuple(_slice(token, counts) for token in what[0].split()))
    elif verb == "produce":
        order = cell["runs"][0]["topics"]["main"]["entries"]
        producers: dict[str, list[Slice]] = {}
        for entry in order:
            producers.setdefault(entry["producer"], []).append(
                Slice(entry["label"], entry["chunk_id"], entry["num_chunks"] or 1)
            )
        yield Step("produce", tuple(tuple(slices) for slices in producers.values()))
    elif verb == "http":
        yield _admin_step(*what)
    elif verb in ("resetcursor", "reset"):
        yield Step("reset", (_place(what[-1]),))
    elif verb == "want":
        yield Step("active", tuple(what))
    elif verb in ("start", "close", "kill", "cut", "go", "unload", "idle", "wait", "policy"):
        yield Step(verb, tuple(what))
    elif verb not in ("create", "admin", "state"):
        raise ValueError(f"no step {verb!r}")


def _admin_step(method: str, path: str, *body: Any) -> Step:
    """A request to the admin API, such as `POST /subscription/s/skip/2`.

    Raises:
        ValueError: there is no model of it.
    """
    match = re.search(r"/subscription/[^/]+/(?P<action>skip_all|(?:skip|expireMessages)/(?P<number>\d+))/?$", path)
    if method != "POST" or body or match is None:
        raise ValueError(f"no model of the request {method} {path}")
    if match["number"] is None:
        return Step("skip", (ALL_ENTRIES,))
    return Step("skip" if match["action"].startswith("skip") else "expire", (int(match["number"]),))


def _place(what: Any) -> int:
    """Where a cursor is reset to: an entry, `earliest` or `latest`."""
    return {"earliest": 0, "latest": ALL_ENTRIES}[what] if isinstance(what, str) else int(what)


def _slice(token: str, counts: dict[str, int]) -> Slice:
    if token.startswith("."):
        return Slice(token[1:], None, 1)
    match = _TOKEN.match(token)
    if match is None:
        raise ValueError(f"no token {token!r}")
    label = match["label"]
    if match["chunks"]:
        counts[label] = int(match["chunks"])
    return Slice(label, int(match["chunk"]), counts[label])


def outcome_of(raw: Mapping[str, Any]) -> Outcome:
    """What came of one repeat."""
    final = raw["final"]
    ranges = re.findall(r"\((-?\d+)\.\.(-?\d+)\]", final["deleted"])
    others = tuple(
        (topic, tuple(sorted(((label, chunk, total) for label, chunk, total in found), key=str)))
        for topic, found in sorted(raw.get("other_topics", {}).items())
        if found
    )
    return Outcome(
        tuple(sorted(raw["delivered_anyone"].items())),
        final["mark_delete"],
        tuple((int(first), int(last)) for first, last in ranges),
        final["backlog"],
        others,
    )
