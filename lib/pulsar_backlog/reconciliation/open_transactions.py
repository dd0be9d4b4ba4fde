"""What open transactions of v5 clients keep from consumers: what stands behind them, and what they acknowledged.

The broker delivers a segment up to its watermark. While a transaction that wrote behind it is open, no subscription
gets what follows: neither messages of other transactions nor plain ones. What an open transaction acknowledged is
neither acknowledged nor given to another consumer until it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from pulsar_backlog.cluster.transactions import Transactions, TxnId
from pulsar_backlog.counting import counted
from pulsar_backlog.findings import MAX_EVIDENCE, Finding
from pulsar_backlog.reconciliation.segments import SegmentState
from pulsar_backlog.terms import Position, position_text

_STORE = "read from the metadata store's transactions"


@dataclass(frozen=True)
class SegmentLedger:
    """A stored ledger of a segment: its entries, and the last one's id."""

    segment: str
    ledger_id: int
    entries: int
    last_entry_id: int


def findings_of_open_transactions(
    segments: Iterable[SegmentState], transactions: Transactions, ledgers: Iterable[SegmentLedger]
) -> Iterator[Finding]:
    """C44 and C45."""
    ledgers_of: dict[str, list[SegmentLedger]] = {}
    for ledger in ledgers:
        ledgers_of.setdefault(ledger.segment, []).append(ledger)
    subscriptions = {one.segment: one.subscriptions for one in segments}
    for segment in sorted({of for of, txn in transactions.writes if transactions.headers.get(txn) == "open"}):
        yield _held_back(segment, transactions, ledgers_of.get(segment, []), subscriptions.get(segment, ()))
    yield from _acknowledged(transactions)


def _held_back(
    segment: str, transactions: Transactions, ledgers: list[SegmentLedger], subscriptions: tuple[str, ...]
) -> Finding:
    names = transactions.open_in(segment)
    watermark = transactions.watermarks.get(segment)
    count = _behind(ledgers, watermark) if watermark else None
    what = "Everything" if count is None else f"What is stored ({counted(count, 'entry')})"
    where = f"behind {position_text(watermark)}" if watermark else "behind its first entry"
    whom = f"no consumer of {', '.join(subscriptions)}" if subscriptions else "no consumer"
    words = (
        f"{what} {where} of {segment} waits for {counted(len(names), 'transaction')} that "
        f"{'is' if len(names) == 1 else 'are'} open ({_named(names, transactions.until_ms)}): {whom} gets it before."
    )
    ledger_id, entry_id = (watermark[0], watermark[1] + 1) if watermark else (None, None)
    return Finding(
        "C45", segment, words, topic=segment, ledger_id=ledger_id, entry_id=entry_id, count=count or 1, reason=_STORE
    )


def _behind(ledgers: list[SegmentLedger], watermark: Position) -> int:
    """Stored entries behind a position."""
    later = sum(one.entries for one in ledgers if one.ledger_id > watermark[0])
    return later + sum(
        min(one.entries, max(0, one.last_entry_id - watermark[1])) for one in ledgers if one.ledger_id == watermark[0]
    )


def _acknowledged(transactions: Transactions) -> Iterator[Finding]:
    by_subscription: dict[tuple[str, str], dict[TxnId, set[Position]]] = {}
    for (segment, subscription, txn), positions in transactions.acknowledgements.items():
        if transactions.headers.get(txn) == "open":
            by_subscription.setdefault((segment, subscription), {})[txn] = positions
    for (segment, subscription), by_txn in sorted(by_subscription.items()):
        places = sorted(set().union(*by_txn.values()))
        words = (
            f"Subscription {subscription} of {segment} has messages of {counted(len(places), 'entry')} acknowledged "
            f"in {counted(len(by_txn), 'transaction')} that {'is' if len(by_txn) == 1 else 'are'} open "
            f"({_named(sorted(by_txn), transactions.until_ms)}): they count as acknowledged only when it commits."
        )
        evidence = tuple(map(position_text, places[:MAX_EVIDENCE]))
        subject = f"{segment} {subscription}"
        yield Finding("C44", subject, words, topic=segment, count=len(places), evidence=evidence, reason=_STORE)


def _named(names: list[TxnId], until_ms: Mapping[TxnId, int]) -> str:
    shown = [f"{most}_{least}{_until(until_ms.get((most, least)))}" for most, least in names[:5]]
    return ", ".join(shown) + (", ..." if len(names) > len(shown) else "")


def _until(ms: int | None) -> str:
    try:
        return (
            "" if ms is None else f", times out {datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec='seconds')}"
        )
    except (OverflowError, ValueError, OSError):
        return ""
