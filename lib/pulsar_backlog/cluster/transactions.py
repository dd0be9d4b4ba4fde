"""Transactions of v5 clients (5.0): what the metadata store says of them. Segments themselves hold no markers.

```
/txn/id/<most>_<least>                               {"state": "OPEN" | "COMMITTED" | "ABORTED", ...}, the header
/txn/op/<most>_<least>-<number>                      {"kind": "WRITE", "segment", ...}, until the segment applied it
/txn/op/<most>_<least>-<number>                      {"kind": "ACK", "segment", "subscription", "ledgerId", "entryId"}
/txn/segment-state/aborted/<segment>:<most>_<least>  stays until the segment trims past it
/txn/segment-state/watermark/<segment>               {"ledgerId", "entryId"}: up to here all is decided
/txn/segment-events/<segment>-<number>               {"txnId", "decision"}
```
The name of a segment is encoded by Java's `URLEncoder`: a space is `+`. Headers are deleted some time after the end;
what then has no aborted record is committed. So an entry of a transaction is, in this order: aborted where a record
or the header says so; open where the header says so; aborted where a write is left without a header; committed where
header or event say so, or where it lies in a ledger that the broker lists, up to the watermark. Of others nobody can
tell: their records were trimmed, or the store was saved before they began.

Source: MetadataTransactionBuffer.java, TxnMetadataStore.java and TxnPaths.java at revision 8dae0236 (5.0.0-M1).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote_plus

from pulsar_backlog.cluster.fields import Fields
from pulsar_backlog.terms import Position

ROOT = "/txn/"
_ID = re.compile(r"(\d{1,19})_(\d{1,19})", re.ASCII)
_OP = re.compile(r"(\d{1,19}_\d{1,19})-\d+", re.ASCII)
_EVENT = re.compile(r"(.+)-\d{20}", re.ASCII)
_STATES = {"OPEN": "open", "COMMITTED": "committed", "ABORTED": "aborted"}

TxnId = tuple[int, int]
"""Most and least significant half, as entries carry them."""


@dataclass
class Transactions:
    """What the store says.

    Attributes:
        headers: `open`, `committed` or `aborted`, by transaction.
        of_segments: `committed` or `aborted`, by full name of a segment and transaction.
        watermarks: last position up to which all is decided, by full name of a segment.
        until_ms: when an open one times out, as its header says.
        writes: segment and transaction, where the segment has not applied yet what the transaction wrote.
        acknowledgements: positions that a transaction acknowledged, by segment, subscription and transaction.
    """

    headers: dict[TxnId, str] = field(default_factory=dict)
    of_segments: dict[tuple[str, TxnId], str] = field(default_factory=dict)
    watermarks: dict[str, Position] = field(default_factory=dict)
    until_ms: dict[TxnId, int] = field(default_factory=dict)
    writes: set[tuple[str, TxnId]] = field(default_factory=set)
    acknowledgements: dict[tuple[str, str, TxnId], set[Position]] = field(default_factory=dict)

    def ledgers(self) -> dict[int, str]:
        """Segments by ledgers that positions name; of a pruned segment, whose list of ledgers is gone, all there is."""
        named = {position[0]: segment for segment, position in self.watermarks.items()}
        for (segment, _, _), positions in self.acknowledgements.items():
            named |= dict.fromkeys((ledger_id for ledger_id, _ in positions), segment)
        return {ledger_id: segment for ledger_id, segment in named.items() if ledger_id >= 0}

    def open_in(self, segment: str) -> list[TxnId]:
        """Open transactions that wrote to a segment, or are about to."""
        return sorted(txn for of, txn in self.writes if of == segment and self.headers.get(txn) == "open")

    def state_of(self, segment: str, txn: TxnId, position: Position, first_ledger_id: int | None) -> str:
        """How the transaction of an entry ended: `committed`, `aborted`, `open` or `cannot_tell`.

        Args:
            segment: full name.
            txn: transaction.
            position: of the entry.
            first_ledger_id: first ledger that the broker lists of the segment; None when that was not saved.
        """
        here, whole = self.of_segments.get((segment, txn)), self.headers.get(txn)
        if "aborted" in (here, whole):
            return "aborted"
        if whole == "open":
            return "open"
        if "committed" in (here, whole):
            return "committed"
        watermark = self.watermarks.get(segment)
        is_listed = first_ledger_id is not None and first_ledger_id <= position[0]
        return "committed" if watermark is not None and is_listed and position <= watermark else "cannot_tell"


def transactions_of_dump(nodes: Iterable[tuple[str, bytes]], faults: list[str]) -> Transactions:
    """Transactions among nodes below `/txn/` and their values; what is not one is noted."""
    transactions = Transactions()
    for path, value in nodes:
        kind, _, rest = path.removeprefix(ROOT).partition("/")
        if not value or not rest or rest.endswith("__seq_counter__") or kind in ("tc", "tc-seq", "subscription-events"):
            continue
        body = _json(value)
        if body is None or not _take(transactions, kind, rest, Fields(body, faults, path)):
            faults.append(path)
    for of, txn in transactions.writes:
        if txn not in transactions.headers:
            transactions.of_segments.setdefault((of, txn), "aborted")
    return transactions


def _take(transactions: Transactions, kind: str, rest: str, body: Fields) -> bool:
    """Whether the node is understood."""
    if kind == "id":
        txn, state = _id(rest), _STATES.get(body.text("state") or "")
        if txn is not None and state is not None:
            transactions.headers[txn] = state
            created, timeout = body.number("createdAt"), body.number("timeout")
            if state == "open" and created is not None and timeout is not None:
                transactions.until_ms[txn] = int((created + timeout) * 1000)
            return True
    elif kind == "op":
        return _take_operation(transactions, rest, body)
    elif kind == "segment-state":
        return _take_segment_state(transactions, rest, body)
    elif kind == "segment-events":
        event, txn = _EVENT.fullmatch(rest), _id(body.text("txnId") or "")
        decision = _STATES.get(body.text("decision") or "")
        if event and txn is not None and decision in ("committed", "aborted"):
            _decide(transactions, unquote_plus(event[1]), txn, decision)
            return True
    return False


def _take_operation(transactions: Transactions, rest: str, body: Fields) -> bool:
    operation, segment = _OP.fullmatch(rest), body.text("segment")
    txn = _id(operation[1]) if operation else None
    if txn is None or segment is None:
        return False
    if body.text("kind") == "WRITE":
        transactions.writes.add((segment, txn))
        return True
    subscription, ledger_id, entry_id = body.text("subscription"), body.signed("ledgerId"), body.signed("entryId")
    if body.text("kind") != "ACK" or subscription is None or ledger_id is None or entry_id is None:
        return False
    transactions.acknowledgements.setdefault((segment, subscription, txn), set()).add((ledger_id, entry_id))
    return True


def _take_segment_state(transactions: Transactions, rest: str, body: Fields) -> bool:
    kind, _, name = rest.partition("/")
    if kind == "aborted":
        segment, _, id_ = name.rpartition(":")
        txn = _id(id_)
        if segment and txn is not None:
            _decide(transactions, unquote_plus(segment), txn, "aborted")
            return True
    elif kind == "watermark":
        ledger_id, entry_id = body.signed("ledgerId"), body.signed("entryId")
        if ledger_id is not None and entry_id is not None:
            transactions.watermarks[unquote_plus(name)] = (ledger_id, entry_id)
            return True
    return False


def _decide(transactions: Transactions, segment: str, txn: TxnId, decision: str) -> None:
    """What says aborted is believed before what says committed: nothing of it was shown then."""
    if transactions.of_segments.get((segment, txn)) != "aborted":
        transactions.of_segments[segment, txn] = decision


def _id(text: str) -> TxnId | None:
    match = _ID.fullmatch(text)
    numbers = (int(match[1]), int(match[2])) if match else (1 << 63, 0)
    return numbers if max(numbers) < 1 << 63 else None


def _json(value: bytes) -> dict[str, object] | None:
    try:
        body = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def added(all_: Iterable[Transactions]) -> Transactions:
    """What several files say together."""
    total = Transactions()
    for one in all_:
        _update(total.headers, one.headers)
        total.until_ms |= one.until_ms
        total.writes |= one.writes
        for key, positions in one.acknowledgements.items():
            total.acknowledgements[key] = total.acknowledgements.get(key, set()) | positions
        for (segment, txn), decision in one.of_segments.items():
            _decide(total, segment, txn, decision)
        for segment, position in one.watermarks.items():
            total.watermarks[segment] = max(position, total.watermarks.get(segment, position))
    return total


def _update(headers: dict[TxnId, str], others: Mapping[TxnId, str]) -> None:
    """An end is believed before a transaction that is still open: it was saved later."""
    for txn, state in others.items():
        if headers.get(txn, "open") == "open":
            headers[txn] = state
