"""The entries of a cursor ledger -> the newest whole state, and what stood in its way.

    one entry       PositionInfo, bare; or with size prefix and compressed (PIP-381)
    several (381)   parts of one state, one after another, then a footer entry {"numParts":N,"length":bytes}

Each state is whole in itself, so entries are never merged. A released broker reads the last entry only and fails when
that is unreadable; one with PIP-381 steps back over parts that lack their footer, but not past a footer whose parts are
wrong. We step back over both and say so. A part cut at a field boundary can parse by chance: a state that follows
broken ones must therefore name a ledger of the topic.
Source: https://github.com/apache/pulsar/blob/492eb456/managed-ledger/src/main/java/org/apache/bookkeeper/mledger/impl/ManagedCursorImpl.java
and https://github.com/apache/pulsar/pull/22799
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pulsar_backlog.cursors.decode import decode_position_info
from pulsar_backlog.cursors.values import AckState
from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.state_envelope import possible_codecs, unprefixed

UNKNOWN_CODEC = "?"
"""Given as codec where nobody kept the ledger's custom metadata."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An entry that should have been a state and is not.

    Attributes:
        entry_id: entry of the cursor ledger.
        what: `torn` (a footer without its parts), `undecodable` (not a state) or `implausible` (parses, but names
            ledgers that the topic does not have).
        detail: what is wrong, in words.
    """

    entry_id: int
    what: str
    detail: str


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a cursor ledger says.

    Attributes:
        state: the newest whole state; None when there is none.
        entry_id: its entry, the footer where it has parts; None without a state.
        parts: entries it is split over; 1 when it is not.
        codec: its codec; None when it is bare.
        stored_bytes: bytes of it in the ledger, without the footer.
        faults: newer entries that are not whole states, newest first.
        stock_broker_reads: whether a broker without PIP-381 would read this same state.
    """

    state: AckState | None
    entry_id: int | None = None
    parts: int = 1
    codec: str | None = None
    stored_bytes: int = 0
    faults: tuple[Fault, ...] = ()

    @property
    def stock_broker_reads(self) -> bool:
        """Whether a broker without PIP-381 would read this same state."""
        return self.state is not None and self.parts == 1 and self.codec is None and not self.faults


def recover(
    entries: Mapping[int, bytes], codec: str | None = UNKNOWN_CODEC, known_ledgers: Collection[int] | None = None
) -> Recovered:
    """The newest whole state among the entries of one cursor ledger.

    Args:
        entries: by entry id; as found on a bookie, beyond the last confirmed one too.
        codec: value of the ledger's `pulsar/cursor-compressionType`, None when it has no such key.
        known_ledgers: ledgers of the topic; None when they are not known.
    """
    faults: list[Fault] = []
    for entry_id in sorted(entries, reverse=True):
        data = entries[entry_id]
        parts = _footer(data)
        try:
            if parts is None:
                joined, count = data, 1
            else:
                joined, count = _joined(entries, entry_id, parts), parts[0]
            state, used = _state(joined, codec)
        except DecodeError as error:
            faults.append(Fault(entry_id, "torn" if parts else "undecodable", f"{error.expected}, found {error.found}"))
            continue
        if faults and known_ledgers is not None and not _plausible(state, known_ledgers):
            faults.append(Fault(entry_id, "implausible", f"mark-delete in ledger {state.mark_delete[0]}"))
            continue
        return Recovered(state, entry_id, count, used, len(joined), tuple(faults))
    return Recovered(None, faults=tuple(faults))


def _footer(data: bytes) -> tuple[int, int] | None:
    """Parts and bytes that a footer names; None when the entry is no footer."""
    if data[:1] != b"{":
        return None
    try:
        body = json.loads(data)
        parts, length = body["numParts"], body["length"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    whole = type(parts) is int and type(length) is int
    return (parts, length) if whole and parts > 0 and length >= 0 else None


def _joined(entries: Mapping[int, bytes], footer_id: int, footer: tuple[int, int]) -> bytes:
    count, length = footer
    first = footer_id - count
    present = sum(first <= id_ < footer_id for id_ in entries)  # a footer may name more parts than memory holds
    if first < 0 or present < count:
        raise _torn(f"{count} parts before the footer", f"{present}")
    joined = b"".join(entries[id_] for id_ in range(first, footer_id))
    if len(joined) != length:
        raise _torn(f"{length} bytes of parts", str(len(joined)))
    return joined


def _state(data: bytes, codec: str | None) -> tuple[AckState, str | None]:
    """The state, and its codec; where several are possible the first that works.

    Raises:
        DecodeError: of the likeliest codec.
    """
    first: DecodeError | None = None
    for used in possible_codecs(data) if codec == UNKNOWN_CODEC else (codec,):
        try:
            return decode_position_info(data if used is None else unprefixed(data, used)), used
        except DecodeError as error:
            first = first or error
    raise first or _torn("a codec", "none")


def _plausible(state: AckState, known_ledgers: Collection[int]) -> bool:
    return state.mark_delete[0] in known_ledgers


def _torn(expected: str, found: str) -> DecodeError:
    return DecodeError("cursor_state_undecodable", offset=0, field="footer", expected=expected, found=found)
