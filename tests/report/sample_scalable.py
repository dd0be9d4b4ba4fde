"""Scalable topics for reports: one that split, merged and split again; one that was migrated; one without a layout."""

from __future__ import annotations

from typing import Any

from pulsar_backlog.report.model import FindingRow
from pulsar_backlog.report.scalable import Scalable, ScalableSubscription, ScalableTopic, SegmentFacts
from tests.report.sample_parts import T0_MS, finding, totals

CLICKS, LEGACY, GUESSED = "topic://lab/s3/clicks", "topic://lab/s3/legacy", "topic://lab/s3/guessed"


def segment(segment_id: int, first: int, last: int, **more: Any) -> SegmentFacts:
    row: dict[str, Any] = {
        "segment": f"segment://lab/s3/clicks/{first:04x}-{last:04x}-{segment_id}",
        "segment_id": segment_id,
        "first_hash": first,
        "last_hash": last,
        "status": "active" if more.get("sealed_epoch") is None else "sealed",
        "parents": (),
        "children": (),
        "kin_sureness": "certain",
        "created_epoch": 0,
        "sealed_epoch": None,
        "created_ms": T0_MS,
        "sealed_ms": None,
        "is_legacy": False,
        "ledgers": 1,
        "entries": 15,
        "bytes": 1000,
        "cursors": 2,
    }
    return SegmentFacts(**row | more)


def clicks_segments() -> tuple[SegmentFacts, ...]:
    """As acme/shop/clicks of the 5.0.0-M1 cluster: split, merge, split."""
    later = T0_MS + 60_000
    return (
        segment(0, 0, 0x7FFF, sealed_epoch=1, children=(2, 3), sealed_ms=later),
        segment(1, 0x8000, 0xFFFF, sealed_epoch=2, children=(4,), sealed_ms=later),
        segment(2, 0, 0x3FFF, created_epoch=1, parents=(0,), created_ms=later),
        segment(3, 0x4000, 0x7FFF, created_epoch=1, sealed_epoch=2, parents=(0,), children=(4,)),
        segment(4, 0x4000, 0xFFFF, created_epoch=2, sealed_epoch=3, parents=(3, 1), children=(5, 6)),
        segment(5, 0x4000, 0x9FFF, created_epoch=3, parents=(4,), ledgers=0, entries=0, cursors=1),
        segment(6, 0xA000, 0xFFFF, created_epoch=3, parents=(4,), ledgers=0, entries=0, cursors=1),
    )


def migrated_segments() -> tuple[SegmentFacts, ...]:
    """Two old partitions, and a child that has the same range as nobody else."""
    old = {"is_legacy": True, "sealed_epoch": 0, "children": (2,)}
    return (
        segment(0, 0, 0xFFFF, segment="persistent://lab/s3/legacy-partition-0", **old),
        segment(1, 0, 0xFFFF, segment="persistent://lab/s3/legacy-partition-1", **old),
        segment(2, 0, 0xFFFF, parents=(0, 1)),
    )


def subscription(name: str, **more: Any) -> ScalableSubscription:
    row: dict[str, Any] = {
        "subscription": name,
        "registered": False,
        "cursors": 5,
        "backlog_entries": 12,
        "backlog_messages": 40,
        "backlog_bytes": 2000,
        "unstored_entries": 3,
        "stalls": 1,
        "segments_without_cursor": 2,
        "entries_without_cursor": 30,
        "bytes_without_cursor": 11_779,
    }
    return ScalableSubscription(**row | more)


def topic(name: str, segments: tuple[SegmentFacts, ...], rows: list[FindingRow], **more: Any) -> ScalableTopic:
    values: dict[str, Any] = {
        "topic": name,
        "segments": len(segments),
        "active": sum(one.status == "active" for one in segments),
        "sealed": sum(one.status == "sealed" for one in segments),
        "pruned": 0,
        "unknown": sum(one.status == "unknown" for one in segments),
        "migrated": sum(one.is_legacy for one in segments),
        "ledgers": sum(one.ledgers for one in segments),
        "entries": sum(one.entries for one in segments),
        "bytes": sum(one.bytes for one in segments),
        "chunked_messages": 4,
        "not_whole": 1,
        "stalls": 1,
        "errors": sum(row["severity"] == "error" for row in rows),
        "warnings": sum(row["severity"] == "warning" for row in rows),
        "incomplete": any(row["incomplete"] for row in rows),
        "listed": segments,
        "findings": tuple(rows),
        "finding_totals": totals(rows),
    }
    return ScalableTopic(**values | more)


def scalable_sample() -> Scalable:
    """Three topics, the worst first."""
    fault = finding(
        "S51", CLICKS, f"The layout of {CLICKS} contradicts itself or its segments: segment 3 is called active, but it "
        "is terminated.", topic=CLICKS, count=2,
        evidence=("segment 3 is called active, but it is terminated", "no active segment has key hashes 0 to 16383"),
    )  # fmt: skip
    lacking = finding("S53", f"{CLICKS} workers", "Subscription workers has no cursor on 2 segments.", topic=CLICKS)
    unknown = finding("S50", GUESSED, f"{GUESSED} is a scalable topic.", topic=GUESSED, incomplete=True)
    names = tuple(
        segment(
            at, first, last, status="unknown", created_epoch=None, created_ms=None, kin_sureness="likely",
            parents=(0,) if at else (), children=() if at else (1, 2),
        )
        for at, (first, last) in enumerate([(0, 0xFFFF), (0, 0x7FFF), (0x8000, 0xFFFF)])
    )  # fmt: skip
    return Scalable(
        3,
        (
            topic(GUESSED, names, [unknown]),
            topic(
                CLICKS, clicks_segments(), [fault, lacking], subscription_total=2,
                subscriptions=(
                    subscription("workers"),
                    subscription(
                        "ledger", registered=True, cursors=7, backlog_entries=None, segments_without_cursor=0,
                        entries_without_cursor=0, bytes_without_cursor=0, unstored_entries=0,
                    ),
                ),
            ),
            topic(LEGACY, migrated_segments(), [], not_whole=0, stalls=0),
        ),
    )  # fmt: skip


def hostile_scalable(texts: tuple[str, ...]) -> Scalable:
    """Every text that a layout, a name or a tampered table can give."""
    topics = []
    for text in texts:
        rows = [finding("S51", text, text, topic=text, evidence=(text,), reason=text)]
        strange = segment(0, 0, 9, segment=text, status=text, kin_sureness=text, parents=None, created_ms=1 << 62)
        topics.append(topic(text, (strange,), rows, subscription_total=1, subscriptions=(subscription(text),)))
    return Scalable(len(topics), tuple(topics))
