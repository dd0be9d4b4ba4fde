"""Rows of the tables, as dictionaries -> the values that planning reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pulsar_backlog.repair.planning.cut_off_values import CutOff
from pulsar_backlog.repair.planning.values import (
    Entry,
    Exported,
    Named,
    PublicationFacts,
    Restored,
    StallFacts,
    Stored,
    Subscription,
    TopicFacts,
    Unloadable,
)
from pulsar_backlog.repair.values import AsStored, Run, StoredEntry
from pulsar_backlog.subscriptions.stall_values import Loss
from pulsar_backlog.terms import Position

Row = Mapping[str, Any]
_Key = tuple[str, str, int]
_T = TypeVar("_T")


def topic_facts(
    stalls: Iterable[Row],
    publications: Iterable[Row],
    exports: Iterable[Row],
    subscriptions: Iterable[Row],
    settings: Iterable[Row],
    redelivered: Iterable[Row] = (),
    restored: Iterable[tuple[str, Restored]] = (),
    stored: Iterable[tuple[Row, Stored]] = (),
    named: Iterable[Row] = (),
    dead_letters: Iterable[Row] = (),
    cut_off: Iterable[tuple[str, CutOff]] = (),
) -> Iterator[TopicFacts]:
    """What is known of each topic that a stall, publication, holdup, restored state, cut-off entry or user names."""
    again = {(row["subscription"], *_key(row)): row["entries"] for row in redelivered}
    copies = {(row["subscription"], *_key(row)): row["copy"] for row in dead_letters}
    exported = {_key(row): exported_of(row) for row in exports}
    of_stalls = _by_topic((row["topic"], stall_of(row, again, copies)) for row in stalls)
    as_they_lie = list(stored)
    sets = {_key(row): one for row, one in as_they_lie if row["chunk_uuid"] is not None}
    singles = {one.position: one for row, one in as_they_lie if row["chunk_uuid"] is None}
    of_publications = _by_topic(
        (row["topic"], publication_of(row, exported.get(_key(row)), sets.get(_key(row)))) for row in publications
    )
    of_named = _by_topic((row["topic"], named_of(row, singles)) for row in named)
    of_subscriptions = _by_topic((row["topic"], subscription_of(row)) for row in subscriptions)
    of_restored, of_cut_off = _by_topic(restored), _by_topic(cut_off)
    advice = {row["topic"]: row["recommended"] for row in settings}
    held_up = {topic for topic, rows in of_subscriptions.items() if any(one.unloadable for one in rows)}
    for topic in sorted({*of_stalls, *of_publications, *of_restored, *of_named, *of_cut_off, *held_up}):
        yield TopicFacts(
            topic=topic,
            publications=tuple(of_publications.get(topic, ())),
            stalls=tuple(of_stalls.get(topic, ())),
            subscriptions=tuple(of_subscriptions.get(topic, ())),
            settings=tuple((one["setting"], one["value"], one["reason"]) for one in advice.get(topic, ())),
            restored=tuple(of_restored.get(topic, ())),
            named=tuple(of_named.get(topic, ())),
            cut_off=tuple(of_cut_off.get(topic, ())),
        )


def stall_of(
    row: Row, redelivered: Mapping[tuple[str, str, str, int], int], copies: Mapping[tuple[str, str, str, int], str]
) -> StallFacts:
    """A row of `stalls` whose positions were looked up again."""
    return StallFacts(
        subscription=row["subscription"],
        chunk_uuid=row["chunk_uuid"],
        publish_time_ms=row["publish_time_ms"],
        code=row["code"],
        kind=row["kind"],
        also=tuple(row["also"]),
        entries=tuple(map(_entry, row["entries"] or ())),
        unacked_entries=row["unacked_entries"],
        unacked_bytes=row["unacked_bytes"],
        acked_entries=row["acked_entries"],
        action=row["action"],
        first_chunk=_position(row["first_chunk_ledger_id"], row["first_chunk_entry_id"]),
        sureness=row["sureness"],
        reason=row["reason"],
        advice=row["advice"],
        can_complete=row["can_complete"],
        redelivered_entries=redelivered.get((row["subscription"], *_key(row)), 0),
        copy=copies.get((row["subscription"], *_key(row))),
    )


def publication_of(row: Row, exported: Exported | None, stored: Stored | None = None) -> PublicationFacts:
    """A row of `chunked_messages` with `losses`."""
    return PublicationFacts(
        chunk_uuid=row["chunk_uuid"],
        publish_time_ms=row["publish_time_ms"],
        state=row["state"],
        rebuildable=row["rebuildable"],
        sureness=row["sureness"],
        reason=row["reason"],
        num_chunks=row["num_chunks"],
        present_chunks=row["present_chunks"],
        stored_bytes=row["stored_bytes"],
        exported=exported,
        losses=tuple(Loss(one["model"], one["outcome"], one["reason"]) for one in row["losses"] or ()),
        encrypted=row["encrypted"],
        stored=stored,
    )


def stored_of(row: Row, source: str) -> Stored:
    """A message with `parts`, of `stored_messages.stored_rows`; `source` is what the audit read."""
    entries = tuple(
        StoredEntry(
            (one["ledger_id"], one["entry_id"]),
            one["uri"],
            one["offset"],
            one["length"],
            one["checksum"],
            one["inner_offset"],
            one["block_length"],
        )
        for one in row["parts"]
    )
    faults = [words for name, words in _FAULTS.items() if not row[name]]
    return Stored(
        as_stored=AsStored(source, entries),
        size_bytes=row["bytes"],
        keys=row["keys"],
        batch_size=row["batch_size"],
        has_schema=row["has_schema"],
        fault=faults[0] if faults else "",
        transaction=row["transaction"],
        republished=row["republished"],
    )


_FAULTS = {
    "sound": "some of its entries have no matching checksum, so nobody would notice damage",
    "encrypted": "not all of its chunks are encrypted",
    "known": "its metadata has fields that this version does not know, so nobody can tell what they mean in a copy",
    "agreed": "its chunks contradict each other or copies of one differ, and nobody can tell which is right",
    "first": "a repair published it: republishing it would make a loop",
}
"""What must be true of a message, and what is said where it is not."""


def named_of(row: Row, singles: Mapping[Position, Stored]) -> Named:
    """A row of `stored_messages.named_rows` whose topic is known."""
    position = (row["ledger_id"], row["entry_id"])
    key = None if row["chunk_uuid"] is None else (row["chunk_uuid"], row["publish_time_ms"])
    return Named(position, key, row["encrypted"], singles.get(position))


def missing_names(named: Sequence[Row]) -> list[str]:
    """Named positions at which nothing lies, as they were named."""
    return [f"{row['ledger_id']}:{row['entry_id']}" for row in named if row["topic"] is None]


def exported_of(row: Row) -> Exported:
    """A row of `messages`."""
    return Exported(
        position=(row["ledger_id"], row["entry_id"]),
        outcome=row["outcome"],
        verified=row["verified"],
        reason=row["reason"],
        transaction=row["transaction"],
        payload_sha256=row["payload_sha256"],
        payload_bytes=row["payload_bytes"],
        key=row["partition_key"],
        key_is_bytes=bool(row["partition_key_b64_encoded"]),
        ordering_key=_bytes(row["ordering_key"]),
        event_time_ms=row["event_time_ms"],
        properties=dict(row["properties"] or {}),
        was_encrypted=row["was_encrypted"],
        replicate_to=tuple(row["replicate_to"] or ()),
        schema_version=_bytes(row["schema_version"]),
        schema_id=_bytes(row["schema_id"]),
        republished=row["republished"],
    )


def subscription_of(row: Row) -> Subscription:
    """A row of `subscriptions`."""
    mark_delete = _position(row["mark_delete_ledger_id"], row["mark_delete_entry_id"])
    reasons = row.get("holdups") or ()
    return Subscription(
        row["subscription"],
        row["subscription_type"],
        mark_delete,
        tuple(
            Unloadable(one["kind"], one["code"], one["evidence"], one["advice"])
            for one in reasons
            if one["remedy"] == "unload"
        ),
        leaves_dead_letters=any(one["kind"] == "dead_letters_left" for one in reasons),
    )


def restored_of(row: Row) -> Restored:
    """A subscription's acknowledgements that an earlier audit knows and this one does not."""
    return Restored(
        subscription=row["subscription"],
        runs=tuple(Run(one["ledger_id"], one["first_entry_id"], one["last_entry_id"]) for one in row["runs"]),
        bytes=row["bytes"],
        earlier=_position(row["mark_delete_ledger_id"], row["mark_delete_entry_id"]),
        sureness=row["sureness"],
        reason=row["reason"],
        batches=row["batches"],
        left_runs=row["left_runs"],
    )


def _entry(row: Row) -> Entry:
    owner = None if row["owner_uuid"] is None else (row["owner_uuid"], row["owner_time_ms"])
    return Entry((row["ledger_id"], row["entry_id"]), owner, row["role"], row["is_sound"], row["holds_more"])


def _bytes(value: bytearray | bytes | None) -> bytes | None:
    """Spark gives `bytearray`."""
    return None if value is None else bytes(value)


def _key(row: Row) -> _Key:
    return row["topic"], row["chunk_uuid"], row["publish_time_ms"]


def _by_topic(pairs: Iterable[tuple[str, _T]]) -> dict[str, list[_T]]:
    groups: dict[str, list[_T]] = {}
    for topic, value in pairs:
        groups.setdefault(topic, []).append(value)
    return groups


def _position(ledger_id: int | None, entry_id: int | None) -> Position | None:
    return None if ledger_id is None or entry_id is None else (ledger_id, entry_id)
