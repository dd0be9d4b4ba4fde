"""A plan that publishes on one cluster what another one holds and it lacks: each message once, as its producer's.

    what the comparison says                       what is planned
    `missing`, certain                             the message, from the export of the other side
    `broken`, certain (some of its chunks)         the whole message: clients drop a chunk that comes late
    any other sureness                             nothing: it may be there, or still arrive, and would be stored twice
    `in_flight`, `policy`                          nothing: it may still arrive, or is not wanted there

Producer name, sequence id and publish time are those of the original, so that the next comparison knows it again, and
`replicated_from` is set, so that no replicator sends it back. It is appended to the log: whoever reads gets it after
what was stored since. Brokers drop what this plan's own producer sends twice; see `applying/republish.py`.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pulsar_backlog.messages.kinds import NOT_COMMITTED
from pulsar_backlog.repair.origin import Origin
from pulsar_backlog.repair.planning.plan import Planned
from pulsar_backlog.repair.planning.values import HeldBack
from pulsar_backlog.repair.values import Action, Message, Plan
from pulsar_backlog.terms import Position

Row = Mapping[str, Any]

AFFECTS = (
    "It is appended to the end of the topic: every subscription gets it once, after messages that were sent later. "
    "Clusters that this one replicates to do not get it from here."
)
UNDO = "It cannot be taken back; subscriptions may acknowledge it."
_COMPARE = "audit the whole of both sides, with the admin JSON of both, and compare again"
_NO_TOPIC = "the side holds no message of the topic, so nobody can tell where to look for it before it is published"
_EXPORT = "export the topic from the audit that has it, then plan again"


def plan_replicating(
    cluster: str, rows: Iterable[Row], side: str, home: str, streams: Sequence[str], ends: Mapping[str, Position]
) -> tuple[Planned, list[Row]]:
    """The plan, and the row of `messages` that each action publishes.

    Args:
        cluster: of the comparison.
        rows: of `Missing`.
        side: that lacks them.
        home: what the side calls the cluster that has them.
        streams: what it calls all clusters that it gets messages from.
        ends: last entry of each of its topics that was compared.
    """
    actions: list[Action] = []
    untouched: list[HeldBack] = []
    messages: list[Row] = []
    for row in rows:
        message = row["message"]
        end = ends.get(topic_of(row, side))
        why, to_do = why_not(row)
        if why is not None or message is None or end is None:
            uuid, time_ms = (message["chunk_uuid"] or "", message["publish_time_ms"]) if message else ("", 0)
            untouched.append(HeldBack(topic_of(row, side), None, uuid, time_ms or 0, why or _NO_TOPIC, to_do))
            continue
        messages.append(message)
        actions.append(_action(len(actions), row, side, _origin(message, home, streams, end)))
    return Planned(Plan(cluster, tuple(actions)), {}, tuple(untouched), 0), messages


def topic_of(row: Row, side: str) -> str:
    """The topic on the side that lacks the message."""
    return str(row["topic_b"] if side == "b" else row["topic"])


def why_not(row: Row) -> tuple[str | None, str]:
    """What speaks against publishing a message, and what would change that; None when nothing does."""
    message = row["message"]
    if row["sureness"] != "certain":
        return f"it is not certain that it is {row['kind']}: {row['reason']}", _COMPARE
    if message is None:
        return "its payload is not exported on the other side", _EXPORT
    if not message["verified"] or message["payload_sha256"] is None:
        reason = message["reason"] or "a null value has no payload"
        return f"its payload is not verified: {reason}", _EXPORT
    if message["transaction"] in NOT_COMMITTED:
        return f"it belongs to a transaction that is {message['transaction']}", "nothing: consumers never get it"
    if message["deliver_at_time"] is not None:
        return "it was sent for later delivery, which a plan does not keep", "publish it from the export yourself"
    if message["producer_name"] is None:
        return "its producer is not known", "nothing: the next comparison could not know it again"
    return None, ""


def _action(number: int, row: Row, side: str, origin: Origin) -> Action:
    message, place = row["message"], row["place"]
    where = f"{place[0]}:{place[1]}" + (f":{place[2]}" if place[2] >= 0 else "")
    fault = "is broken" if row["kind"] == "broken" else "is missing"
    return Action(
        number=number, kind="republish", topic=topic_of(row, side), cause=row["kind"], sureness=row["sureness"],
        reason=f"The message {fault} here, and is stored whole at {where} on the other side: {row['reason']}.",
        evidence=(
            f"producer {message['producer_name']}, sequence id {message['sequence_id']}, published at "
            f"{message['publish_time_ms']} ms",
        ),
        size_bytes=message["payload_bytes"], codes=("D05" if row["kind"] == "broken" else "D01",),
        affects=AFFECTS, undo=UNDO, message=_message(message, place, origin),
    )  # fmt: skip


def _origin(message: Row, home: str, streams: Sequence[str], end: Position) -> Origin:
    came_from = message["replicated_from"]
    return Origin(
        producer_name=message["producer_name"],
        sequence_id=message["sequence_id"],
        publish_time_ms=message["publish_time_ms"],
        replicated_from=came_from if came_from in streams else home,
        log_end=end,
    )


def _message(row: Row, place: Sequence[int], origin: Origin) -> Message:
    return Message(
        original=(place[0], place[1]),
        sha256=row["payload_sha256"],
        size_bytes=row["payload_bytes"],
        key=row["partition_key"],
        key_is_base64=bool(row["partition_key_b64_encoded"]),
        ordering_key=None if row["ordering_key"] is None else b64encode(row["ordering_key"]).decode(),
        event_time_ms=row["event_time_ms"],
        properties=dict(sorted((row["properties"] or {}).items())),
        replicate_to=tuple(row["replicate_to"] or ()),
        was_encrypted=bool(row["encryption_key_names"]),
        origin=origin,
    )
