"""A repair plan as a value, and as lines of JSON.

```
PLAN/plan.jsonl       a line for the plan, then one per action, in the order in which they are applied
PLAN/payloads/<n>     payload of the message that action n publishes
PLAN/journal.jsonl    what apply did: a line before and a line after each action
```
The id of a plan is a digest of its actions: the same tables make the same plan.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from pulsar_backlog.errors import UsageError
from pulsar_backlog.json_text import to_json
from pulsar_backlog.ledgers.entry_batch import Place
from pulsar_backlog.private_files import private_file, private_folder
from pulsar_backlog.repair.origin import Origin
from pulsar_backlog.terms import Position

PLAN_NAME = "plan.jsonl"
PAYLOADS_NAME = "payloads"
_VERSION = 4

Kind = Literal[
    "acknowledge", "skip", "acknowledge_cumulative", "reset_cursor", "unload", "republish", "file", "settings"
]
"""How it is done:

* `acknowledge`: each entry of `runs` for itself, by a client that receives nothing. Touches no other entry.
* `skip`: admin skip; moves mark-delete over the first entries that are not acknowledged, which must be those of `runs`.
* `acknowledge_cumulative`: everything up to `target`; the entries it covers must be those of `runs`.
* `reset_cursor`: mark-delete to just before `target`; forgets every acknowledgement after it, disconnects consumers.
* `unload`: admin unload of the topic, which ends the pins of all its subscriptions; changes no acknowledgement.
* `republish`: republishes `message`, to all subscriptions of its topic.
* `file`: `message` is only kept, in the plan's own folder; nothing is applied.
* `settings`: advice, never applied.
"""

NEVER_APPLIED: tuple[Kind, ...] = ("file", "settings")


@dataclass(frozen=True)
class Run:
    """Entries of one ledger, the last included."""

    ledger_id: int
    first_entry_id: int
    last_entry_id: int


@dataclass(frozen=True)
class StoredEntry:
    """An entry that is published as it is stored: where it lies, and by what it is known again.

    Attributes:
        position: in the log.
        uri: object that holds it, relative to the source.
        offset: first byte of the entry in that object; where that is compressed, of the block or record that holds it.
        length: bytes of the entry.
        crc32c: of metadata and payload, unsigned, as the producer computed it and the audit found it to agree.
        inner_offset: first byte of the entry in that block or record, decompressed; None where it is stored as it is.
        block_length: stored bytes of that block or record; None likewise.
    """

    position: Position
    uri: str
    offset: int
    length: int
    crc32c: int
    inner_offset: int | None = None
    block_length: int | None = None

    @property
    def place(self) -> Place:
        """Where it lies."""
        return Place(self.uri, self.offset, self.length, self.inner_offset, self.block_length)


@dataclass(frozen=True)
class AsStored:
    """A message that is published without being opened.

    Attributes:
        source: folder or bucket of the offloaded ledgers that the audit read.
        entries: all of the message, in order.
    """

    source: str
    entries: tuple[StoredEntry, ...]


@dataclass(frozen=True)
class Message:
    """What is published again.

    Of a message that is published as it is stored the plan holds only where it lies: key, properties and the rest are
    read again with it.

    Attributes:
        original: position of the message's last entry.
        sha256: of the payload, hex; None where it is published as it is stored, for then nobody saw it.
        size_bytes: of the payload; as stored, where that is published.
        original_uuid: of a chunked message.
        key: partition key as stored; None when there is none.
        key_is_base64: whether the key is bytes, and stored as base64.
        ordering_key: base64; None when there is none.
        event_time_ms: None when there is none.
        properties: of the application.
        schema_version: base64; None when there is none, or when it is published to another topic.
        schema_id: likewise.
        replicate_to: clusters that its producer chose; empty for all.
        original_topic: where it lies, when it is published to another topic.
        was_encrypted: whether it was encrypted in the log; then it is encrypted again or published as it is stored,
            never in the clear.
        as_stored: where the entries lie that are published as they are; None when the payload beside the plan is.
        origin: of what lies behind the recorded end of a ledger; None of what lies in the log.
    """

    original: Position
    sha256: str | None
    size_bytes: int
    original_uuid: str | None = None
    key: str | None = None
    key_is_base64: bool = False
    ordering_key: str | None = None
    event_time_ms: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    schema_version: str | None = None
    schema_id: str | None = None
    replicate_to: tuple[str, ...] = ()
    original_topic: str | None = None
    was_encrypted: bool = False
    as_stored: AsStored | None = None
    origin: Origin | None = None


@dataclass(frozen=True)
class Action:
    """One step.

    Attributes:
        number: its place in the plan, from 0.
        kind: what is done.
        topic: full name of the topic partition it is done to.
        reason: why, in a sentence.
        subscription: None for `republish` and `settings`.
        runs: entries that are acknowledged afterwards and were not before.
        target: see `Kind`.
        expected_mark_delete: where the subscription stood when the plan was made; None when that is not known, and
            then it may stand anywhere.
        expected_type: type of the subscription then; None when no consumer was connected.
        message: what is republished.
        cause: what it is for: `dead_chunks`, `exported`, `dead_lettered`, `given_up`, `restore`, `lost_by_clients`,
            `got_in_part`, `named`, `cut_off`, `reset` or `settings`; of `unload` the kind of holdup.
        sureness: that it loses nothing.
        size_bytes: payload bytes it concerns.
        codes: of the findings behind it.
        evidence: facts of the tables, a sentence each.
        affects: what else it does.
        undo: how to take it back.
        requires: numbers of the actions that must be done before it.
    """

    number: int
    kind: Kind
    topic: str
    reason: str
    subscription: str | None = None
    runs: tuple[Run, ...] = ()
    target: Position | None = None
    expected_mark_delete: Position | None = None
    expected_type: str | None = None
    message: Message | None = None
    cause: str = ""
    sureness: str = "certain"
    size_bytes: int = 0
    codes: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    affects: str = ""
    undo: str = ""
    requires: tuple[int, ...] = ()

    @property
    def entry_count(self) -> int:
        """Entries in `runs`."""
        return sum(run.last_entry_id - run.first_entry_id + 1 for run in self.runs)


@dataclass(frozen=True)
class Plan:
    """Actions in order.

    Attributes:
        cluster: name of the cluster in the tables it was made from.
        actions: numbered from 0.
        basis: how old the saved state is that it was made from, where an earlier audit was given it; else empty.
    """

    cluster: str
    actions: tuple[Action, ...]
    basis: str = ""

    @property
    def plan_id(self) -> str:
        """Digest of the actions."""
        lines = [to_json(_body(action), sort_keys=True) for action in self.actions]
        return hashlib.sha256("\n".join([self.cluster, *lines]).encode()).hexdigest()[:16]

    def action_id(self, action: Action) -> str:
        """Name of an action that no other plan uses."""
        return f"{self.plan_id}-{action.number}"


def write_plan(folder: Path, plan: Plan, payloads: Mapping[int, bytes]) -> None:
    """Write a plan with its payloads, by number of the action; only its owner may read it."""
    private_folder(private_folder(folder) / PAYLOADS_NAME)
    for number, payload in payloads.items():
        with private_file(payload_path(folder, number)) as file:
            file.write(payload)
    head = {"version": _VERSION, "plan_id": plan.plan_id, "cluster": plan.cluster, "basis": plan.basis}
    lines = [to_json(line) for line in [head, *map(_body, plan.actions)]]
    with private_file(folder / PLAN_NAME) as file:
        file.write(("\n".join(lines) + "\n").encode())


def _body(action: Action) -> dict[str, Any]:
    """An action as JSON. What only some messages have is left out of the others, so that their plans keep their ids."""
    body = asdict(action)
    if body["message"] is not None and body["message"]["origin"] is None:
        del body["message"]["origin"]
    return body


def payload_path(folder: Path, number: int) -> Path:
    """Where the payload of an action lies."""
    return folder / PAYLOADS_NAME / str(number)


def read_plan(folder: Path) -> Plan:
    """The plan in a folder.

    Raises:
        UsageError: there is none, or it was changed after it was made.
    """
    path = folder / PLAN_NAME
    try:
        head, *lines = [json.loads(line) for line in path.read_text().splitlines()]
        plan = Plan(head["cluster"], tuple(map(_action, lines)), str(head.get("basis", "")))
        version, plan_id = head["version"], head["plan_id"]
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; make a plan with pulsar-backlog repair plan OUT") from None
    except (ValueError, TypeError, KeyError):
        raise UsageError(f"{path} is not a repair plan: make a new one with pulsar-backlog repair plan OUT") from None
    if version != _VERSION or plan_id != plan.plan_id or [a.number for a in plan.actions] != list(range(len(lines))):
        raise UsageError(f"{path} was changed since it was made, or is of another version: plan again")
    return plan


def _action(line: dict[str, Any]) -> Action:
    message = line.pop("message")
    if message:
        pairs = {"original": _position(message["original"]), "replicate_to": tuple(message["replicate_to"])}
        origin = Origin(**message["origin"]) if message.get("origin") else None
        message = Message(**{**message, **pairs, "as_stored": _as_stored(message["as_stored"]), "origin": origin})
    return Action(
        **{
            **line,
            "runs": tuple(Run(**run) for run in line["runs"]),
            "target": _position(line["target"]),
            "expected_mark_delete": _position(line["expected_mark_delete"]),
            **{name: tuple(line[name]) for name in ("codes", "evidence", "requires")},
        },
        message=message,
    )


def _as_stored(body: dict[str, Any] | None) -> AsStored | None:
    if body is None:
        return None
    entries = (StoredEntry(**{**entry, "position": tuple(entry["position"])}) for entry in body["entries"])
    return AsStored(**{**body, "entries": tuple(entries)})


def _position(pair: Iterable[int] | None) -> Position | None:
    if pair is None:
        return None
    ledger_id, entry_id = pair
    return ledger_id, entry_id
