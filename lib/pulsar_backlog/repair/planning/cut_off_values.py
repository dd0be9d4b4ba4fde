"""What planning knows of messages behind the recorded ends of ledgers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pulsar_backlog.repair.values import AsStored, StoredEntry
from pulsar_backlog.terms import Position

CutOffName = Literal["own", "new"]
"""Under which producer's name what was cut off is published."""


@dataclass(frozen=True)
class CutOff:
    """A message behind the recorded end of its ledger: a row of `confirmed_cut_off`; None where the audit is older.

    Attributes:
        reason: why the grade.
        hindrance: empty when nothing hinders.
        went_on: whether its producer stored other messages in later ledgers.
        as_stored: None when it has no checksum.
        republished: as of `Exported`.
    """

    position: Position
    grade: str
    reason: str
    producer: str
    sequence_id: int
    publish_time_ms: int
    size_bytes: int
    hindrance: str | None = ""
    batch_size: int | None = None
    encrypted: bool = False
    went_on: bool = False
    as_stored: AsStored | None = None
    republished: str = "no"


def cut_off_of(row: Mapping[str, Any], source: str, tried: Mapping[Position, str]) -> CutOff:
    """A row of `conf/log/cut_off.sql`.

    Args:
        row: of it.
        source: what the audit read.
        tried: by position, whether plans published it: `done` or `unclear`.
    """
    position = (row["ledger_id"], row["entry_id"])
    as_stored = None
    if row["checksum"] is not None:
        entry = StoredEntry(position, row["uri"], row["offset"], row["length"], row["checksum"])
        as_stored = AsStored(source, (entry,))
    return CutOff(
        position=position,
        grade=row["grade"],
        reason=row["reason"],
        producer=row["producer_name"],
        sequence_id=row["sequence_id"],
        publish_time_ms=row["publish_time_ms"],
        size_bytes=row["payload_length"] or 0,
        hindrance=row["hindrance"],
        batch_size=row["messages"] if row["batched"] else None,
        encrypted=bool(row["encrypted"]),
        went_on=row["went_on"],
        as_stored=as_stored,
        republished=tried.get(position, "no"),
    )
