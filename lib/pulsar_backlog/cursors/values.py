"""Cursor state in the wire's terms.

Ranges are `(lower, upper]`: rows of lower ledger, lower entry (exclusive, -1 is before the first), upper ledger, upper
entry (inclusive). In a long list a set bit is an acknowledged entry; in a batch's delete set a set bit is a message
that is NOT acknowledged.
Source: https://github.com/apache/pulsar/blob/492eb456/managed-ledger/src/main/proto/MLDataFormats.proto
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from pulsar_backlog.terms import Position
from pulsar_backlog.wire.arrays import Int64s

Encoding: TypeAlias = Literal["none", "ranges", "long_array"]

NO_RANGES: Int64s = np.empty((0, 4), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class BatchState:
    """Of one entry, which messages of its batch are not acknowledged.

    Attributes:
        ledger_id: ledger of the entry.
        entry_id: the entry.
        words: bit n (`words[n >> 6] >> (n & 63) & 1`) set: the message at batch index n is not acknowledged.
    """

    ledger_id: int
    entry_id: int
    words: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LongList:
    """Individually acknowledged entries of one ledger.

    Attributes:
        ledger_id: ledger.
        words: bit n set: entry n is acknowledged. Signed, as on the wire.
    """

    ledger_id: int
    words: Int64s


@dataclass(frozen=True, slots=True)
class AckState:
    """One whole state of a cursor, as `PositionInfo` or `ManagedCursorInfo` hold it.

    Attributes:
        mark_delete: everything up to this position is acknowledged.
        ranges: rows of `(lower, upper]`.
        long_lists: one per ledger; readers use them only where there are no ranges.
        batches: entries of which a part is acknowledged.
        properties: numbers the application stored with its last acknowledgement.
        unknown_fields: whether a field of a newer version was there.
    """

    mark_delete: Position
    ranges: Int64s = field(default_factory=lambda: NO_RANGES)
    long_lists: tuple[LongList, ...] = ()
    batches: tuple[BatchState, ...] = ()
    properties: Mapping[str, int] = field(default_factory=dict)
    unknown_fields: bool = False

    @property
    def encoding(self) -> Encoding:
        """How the acknowledged set is written."""
        return "ranges" if len(self.ranges) else "long_array" if self.long_lists else "none"


@dataclass(frozen=True, slots=True)
class CursorInfo:
    """A `ManagedCursorInfo`.

    Attributes:
        cursors_ledger_id: cursor ledger whose last entry is newer than this; -1 when this is all there is.
        state: the snapshot of the last ledger switch, or, with -1, the whole state; None without a mark-delete.
        cursor_properties: texts set by the application.
        last_active_ms: deprecated; None when absent.
        compression: codec of the envelope; None without one.
    """

    cursors_ledger_id: int
    state: AckState | None
    cursor_properties: Mapping[str, str] = field(default_factory=dict)
    last_active_ms: int | None = None
    compression: str | None = None
