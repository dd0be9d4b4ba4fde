"""The damaged entries of each topic, as few values: each may be a missing chunk, whatever it says of itself.

Healthy ledgers are not looked at: the books (`scans`) say which ledgers hold entries that their checksum contradicts,
that have none, or that could not be decoded. How many are listed is bounded; what is not listed is counted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.chunks.rows import Damage, Damaged

MAX_PLACES = 100
"""Damaged entries of a topic that are listed, whole ledgers at a time."""
MAX_LISTED = 10_000
"""Damaged entries of all topics that are listed."""

_KINDS = ("mismatch", "reject")
_WANTED_DDL = "ledger_id bigint, around array<bigint>, kinds array<string>"
_CLAIMS = ("uuid", "producer_name", "sequence_id", "payload_length", "payload_crc32c")


@dataclass(frozen=True, slots=True)
class HurtLedger:
    """A ledger that holds damaged entries.

    Attributes:
        around: the ledger itself, and those of the topic that were scanned before it and after it.
        damaged: entries that a checksum contradicts, or that could not be decoded.
        unverified: entries without a checksum.
    """

    ledger_id: int
    around: tuple[int, ...]
    damaged: int
    unverified: int


def hurt_ledgers() -> Column:
    """Of the books of a topic: ledger id, damaged and unverified entries of each ledger that has any."""
    damaged = f.col("checksum_mismatch") + f.col("rejected")
    one = f.struct("ledger_id", damaged.alias("damaged"), f.col("checksum_absent").alias("unverified"))
    return f.collect_list(f.when((damaged > 0) | (f.col("checksum_absent") > 0), one))


def damage_of_topics(
    rows: Iterable[Mapping[str, Any]], entries: DataFrame, rejects: DataFrame | None
) -> dict[str, Damage]:
    """What is damaged on each topic that has damage.

    Args:
        rows: topics with their `scanned` ledgers and those that are `hurt`.
        entries: rows of `entries`; only ledgers with damage, and those beside them, are read.
        rejects: rows of `rejects`; without them, what could not be decoded is counted and not listed.
    """
    hurt = {row["topic"]: _hurt(row["scanned"] or (), row["hurt"]) for row in rows if row["hurt"]}
    left, wanted = MAX_LISTED, dict[int, tuple[HurtLedger, list[str]]]()
    for _topic, ledgers in sorted(hurt.items()):
        chosen = _choose(ledgers, min(left, MAX_PLACES))
        left -= sum(one.damaged * ("mismatch" in of) + one.unverified * ("absent" in of) for one, of in chosen)
        wanted |= {one.ledger_id: (one, of) for one, of in chosen}
    places = _places(wanted.values(), entries, rejects) if wanted else {}
    scanned = {row["topic"]: row["scanned"] or () for row in rows}
    return {topic: _damage(ledgers, scanned[topic], wanted, places) for topic, ledgers in hurt.items()}


def _hurt(scanned: Iterable[int], hurt: Iterable[Any]) -> list[HurtLedger]:
    order = sorted(scanned)
    found = []
    for one in sorted(hurt):
        at = bisect_left(order, one["ledger_id"])
        around = tuple(order[max(at - 1, 0) : at + 2])
        found.append(HurtLedger(one["ledger_id"], around, one["damaged"], one["unverified"]))
    return found


def _choose(ledgers: Sequence[HurtLedger], budget: int) -> list[tuple[HurtLedger, list[str]]]:
    """Ledgers of which damaged entries are listed, and which kinds; what has no checksum comes last."""
    kinds: dict[int, list[str]] = {}
    for one in ledgers:
        if 0 < one.damaged <= budget:
            kinds[one.ledger_id] = list(_KINDS)
            budget -= one.damaged
    for one in ledgers:
        if 0 < one.unverified <= budget:
            kinds.setdefault(one.ledger_id, []).append("absent")
            budget -= one.unverified
    return [(one, kinds[one.ledger_id]) for one in ledgers if one.ledger_id in kinds]


def _damage(
    ledgers: Sequence[HurtLedger],
    scanned: Iterable[int],
    wanted: Mapping[int, tuple[HurtLedger, list[str]]],
    places: Mapping[int, list[Damaged]],
) -> Damage:
    found = [place for one in ledgers for place in places.get(one.ledger_id, ())]
    listed = {id_: set(kinds) for id_, (_, kinds) in wanted.items()}
    damaged = sum(place.kind != "absent" for place in found)
    return Damage(
        places=tuple(found),
        unlisted=max(sum(one.damaged for one in ledgers) - damaged, 0),
        unverified=tuple(
            one.ledger_id for one in ledgers if one.unverified and "absent" not in listed.get(one.ledger_id, ())
        ),
        ledgers=tuple(sorted(scanned)),
    )


def _places(
    wanted: Iterable[tuple[HurtLedger, list[str]]], entries: DataFrame, rejects: DataFrame | None
) -> dict[int, list[Damaged]]:
    """The damaged entries by ledger, in position order."""
    rows = [(one.ledger_id, list(one.around), kinds) for one, kinds in wanted]
    chosen = f.broadcast(entries.sparkSession.createDataFrame(rows, _WANTED_DDL))
    # A list of values lets Delta pass over files; a join does not.
    entries = entries.filter(f.col("ledger_id").isin(sorted({id_ for _, around, _ in rows for id_ in around})))
    damaged = entries.join(chosen, on="ledger_id", how="inner").select(
        "ledger_id", "entry_id", "around", "kinds", f.col("checksum_state").alias("kind"), *_CLAIMS
    )
    if rejects is not None:
        lost = rejects.filter(f.col("scope") == "entry").join(chosen, on="ledger_id", how="inner")
        unread = lost.select("ledger_id", "entry_id", "around", "kinds", f.lit("reject").alias("kind"))
        damaged = damaged.unionByName(unread, allowMissingColumns=True)
    listed = damaged.filter(f.array_contains("kinds", f.col("kind"))).drop("kinds")
    found: dict[int, list[Damaged]] = {}
    for row in _with_neighbours(listed, entries).orderBy("ledger_id", "entry_id").toLocalIterator():
        found.setdefault(row["ledger_id"], []).append(_damaged(row.asDict()))
    return found


def _with_neighbours(damaged: DataFrame, entries: DataFrame) -> DataFrame:
    """With when the nearest sound entries were stored (`after_ms`, `before_ms`), and whether any is of its producer."""
    at = f.explode("around").alias("beside")
    wanted = damaged.select(f.col("ledger_id").alias("l"), f.col("entry_id").alias("e"), "producer_name", at)
    stored_ms = f.coalesce(f.unix_millis("broker_timestamp"), f.unix_millis("publish_time"))
    sound = entries.filter((f.col("checksum_state") != "mismatch") & stored_ms.isNotNull()).select(
        f.col("ledger_id").alias("beside"), f.struct("ledger_id", "entry_id").alias("place"),
        f.col("producer_name").alias("writer"), stored_ms.alias("ms"),
    )  # fmt: skip
    here = f.struct(f.col("l").alias("ledger_id"), f.col("e").alias("entry_id"))
    place = f.col("place")
    beside = (
        sound.join(f.broadcast(wanted), on="beside", how="inner")
        .groupBy(f.col("l").alias("ledger_id"), f.col("e").alias("entry_id"))
        .agg(
            f.max_by("ms", f.when(place < here, place)).alias("after_ms"),
            f.min_by("ms", f.when(place > here, place)).alias("before_ms"),
            f.bool_or((f.col("writer") == f.col("producer_name")) & (place != here)).alias("known"),
        )
    )
    return damaged.drop("around").join(beside, on=["ledger_id", "entry_id"], how="left")


def _damaged(row: Mapping[str, Any]) -> Damaged:
    """A row with its neighbours. What could not be decoded names nobody; others do, or are garbled.

    A uuid that ends with the entry's own sequence id was not garbled together with it, whoever the producer is.
    """
    uuid, kind = row["uuid"], row["kind"]
    consistent = uuid is not None and uuid.endswith(f"-{row['sequence_id']}")
    return Damaged(
        ledger_id=row["ledger_id"],
        entry_id=row["entry_id"],
        kind=kind,
        after_ms=row["after_ms"],
        before_ms=row["before_ms"],
        chunk_uuid=uuid,
        producer_name=row["producer_name"],
        sequence_id=row["sequence_id"],
        payload_length=row["payload_length"],
        payload_crc32c=row["payload_crc32c"],
        garbled=kind == "mismatch" and not row["known"] and not consistent,
    )
