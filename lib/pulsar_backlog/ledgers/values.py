"""What passes between storage and the rest: copies of ledgers, and the units that they are scanned in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from pulsar_backlog.ledgers.faults import Fault
from pulsar_backlog.ledgers.storage_kinds import STORAGE_KINDS, Kind
from pulsar_backlog.wire.rows import as_time

UNIT_BYTES = 64 * 1024 * 1024
"""Size a scan unit aims at: what one task reads."""

MAX_FAULTS_TOLD = 20
"""Faults of one copy that its row in `ledgers` tells of."""


@dataclass(frozen=True)
class Block:
    """One data block of an offloaded ledger.

    Attributes:
        offset: first byte of the block header in the data object.
        length: bytes of the block, header and padding included.
        first_entry_id: id of its first entry.
        entry_count: entries it must hold by the index and ledger metadata, or None when unknown.
        is_last: whether no block follows: then surplus entries cannot share their ids with another block's.
        uri: file that it lies in, relative to the source; None where all blocks of a copy lie in one.
        last_entry_id: greatest id in it, where blocks of a copy may overlap; then the first one is the least.
    """

    offset: int
    length: int
    first_entry_id: int
    entry_count: int | None
    is_last: bool = False
    uri: str | None = None
    last_entry_id: int | None = None


@dataclass(frozen=True)
class ScanUnit:
    """A piece of a ledger copy that one task reads alone.

    Attributes:
        ledger_id: ledger.
        copy: offload attempt's UUID.
        topic: full topic name, or None.
        path: data object, relative to the source.
        number: place of the unit in the copy, from 0.
        blocks: consecutive blocks; a block larger than `UNIT_BYTES` is a unit of its own.
        kind: how the copy is stored, see `storage_kinds`.
        checksum_path: file with checksums of the data object, relative to the source, or None.
        ids: where blocks overlap, the first id that is the unit's and the first that is not, None at the end.
        end: entries that the ledger has, where it is known.
    """

    ledger_id: int
    copy: str
    topic: str | None
    path: str
    number: int
    blocks: tuple[Block, ...]
    kind: Kind = "jcloud"
    checksum_path: str | None = None
    ids: tuple[int, int | None] | None = None
    end: int | None = None

    def uri_of(self, fault: Fault) -> str:
        """The object that a fault is in."""
        if fault.path is not None:
            return fault.path
        return self.checksum_path or self.path if fault.code.startswith("crc_file") else self.path


@dataclass(frozen=True)
class LedgerCopy:
    """One stored copy of one ledger: a row of `ledgers`, and the blocks to scan.

    Attributes are the columns of the `ledgers` table; `data_uri` and `index_uri` are paths relative to the source.
    Besides:
        created_time_ms: milliseconds, or None when not recorded.
        closed_time_ms: milliseconds, or None when unknown.
        faults: codes of the findings about this copy, sorted.
        blocks: data blocks in order, or parts of a MapFile; empty when nothing can be scanned.
        structure_faults: what is wrong in the index, and in the data where no block is; the walk tells of the blocks.
        pulsar_cluster: Pulsar's own name of the cluster that wrote it, or None where the objects do not say.
        first_written_ms: when the earlier of its objects was written, by the store, or None where that is not known.
        last_written_ms: when the later one was.
    """

    topic: str | None
    ledger_id: int
    copy: str
    kind: Kind
    managed_ledger: str | None
    data_uri: str | None
    index_uri: str | None
    data_bytes: int | None
    index_bytes: int | None
    data_etag: str | None
    expected_entries: int | None
    expected_bytes: int | None
    expected_data_bytes: int | None
    ledger_state: str | None
    created_time_ms: int | None
    closed_time_ms: int | None
    offload_complete: bool | None
    selected: bool
    status: str
    faults: tuple[str, ...]
    blocks: tuple[Block, ...]
    structure_faults: tuple[Fault, ...]
    checksum_uri: str | None = None
    pulsar_cluster: str | None = None
    first_written_ms: int | None = None
    last_written_ms: int | None = None

    @property
    def uuid(self) -> str:
        """The offload attempt's UUID; `copy` numbers a second one stored elsewhere in the source."""
        return self.copy.partition("#")[0]

    def uri_of(self, fault: Fault) -> str | None:
        """The object that one of the `structure_faults` is in."""
        if fault.path is not None:
            return fault.path
        return self.index_uri if fault.field.startswith(("index", "ledger_metadata")) else self.data_uri

    @property
    def created_time(self) -> datetime | None:
        """When the ledger was created, UTC; None when not recorded or out of range."""
        return as_time(self.created_time_ms)

    @property
    def closed_time(self) -> datetime | None:
        """When the ledger was closed, UTC; None when unknown or out of range."""
        return as_time(self.closed_time_ms)

    def row(self, cluster: str) -> dict[str, object]:
        """The copy as a row of the `ledgers` table; times outside the years 1970 to 9999 are null."""
        return {
            "cluster": cluster,
            "topic": self.topic,
            "ledger_id": self.ledger_id,
            "copy": self.copy,
            "kind": self.kind,
            "managed_ledger": self.managed_ledger,
            "data_uri": self.data_uri,
            "index_uri": self.index_uri,
            "checksum_uri": self.checksum_uri,
            "data_bytes": self.data_bytes,
            "index_bytes": self.index_bytes,
            "data_etag": self.data_etag,
            "block_count": len(self.blocks),
            "expected_entries": self.expected_entries,
            "expected_bytes": self.expected_bytes,
            "expected_data_bytes": self.expected_data_bytes,
            "ledger_state": self.ledger_state,
            "created_time": self.created_time,
            "closed_time": self.closed_time,
            "offload_complete": self.offload_complete,
            "selected": self.selected,
            "status": self.status,
            "blocks": [_without_last(asdict(block)) for block in self.blocks],
            "structure_faults": [
                {"uri": self.uri_of(fault), "code": fault.code, "offset": fault.offset, "field": fault.field}
                for fault in self.structure_faults[:MAX_FAULTS_TOLD]
            ],
            "faults": list(self.faults),
        }


def _without_last(block: dict[str, object]) -> dict[str, object]:
    """What of a block stands in `ledgers`: whether it is the last one shows."""
    return {name: value for name, value in block.items() if name != "is_last"}


@dataclass(frozen=True)
class PlannedCopy:
    """What the scan needs of a selected row of `ledgers`: the inventory is the scan's plan.

    Attributes are columns of the `ledgers` table.
    """

    topic: str | None
    ledger_id: int
    copy: str
    kind: Kind
    data_uri: str | None
    checksum_uri: str | None
    data_bytes: int | None
    data_etag: str | None
    expected_entries: int | None
    expected_bytes: int | None
    blocks: tuple[Block, ...]

    @property
    def scan_bytes(self) -> int:
        """About how many bytes of entries a scan goes through; for showing how far it is."""
        promised = self.expected_bytes or 0 if STORAGE_KINDS[self.kind].promises_bytes else 0
        return promised if promised > 0 else self.data_bytes or 0

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> PlannedCopy:
        """The plan in a row of `ledgers`."""
        plain = {field.name: row[field.name] for field in fields(cls) if field.name != "blocks"}
        last = len(row["blocks"]) - 1
        blocks = (Block(**one, is_last=number == last) for number, one in enumerate(row["blocks"]))
        return cls(**plain, blocks=tuple(blocks))
