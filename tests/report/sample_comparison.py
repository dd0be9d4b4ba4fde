"""Comparisons for their page: of two clusters that differ, of equal ones, and of nothing but hostile text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pulsar_backlog.report.comparison_page import ComparedSide, ComparisonModel
from pulsar_backlog.tables import TABLES
from tests.report.sample_parts import STARTED_MS, T0_MS, VERSIONS, finding

SIDES = {
    "a": ComparedSide("/audits/eu", "eu", "s3://offload-eu"),
    "b": ComparedSide("/audits/us", "us", "s3://offload-us"),
}


def compared_topic(name: str, verdict: str, **more: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        column.name: 0 if column.type == "bigint" else "" for column in TABLES["compared_topics"].columns
    }
    return row | {"topic": name, "topic_b": name, "verdict": verdict, "messages_a": 1000, "messages_b": 998, **more}


def difference(name: str, kind: str, side: str, number: int, **more: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "topic": name, "topic_b": name, "kind": kind, "side": side, "producer_name": "eu-1", "sequence_id": number,
        "publish_time_ms": T0_MS, "replicated_from": None, "chunk_uuid": None, "a_ledger_id": 10, "a_entry_id": number,
        "b_ledger_id": None, "b_entry_id": None, "copy_number": number, "sureness": "certain",
        "reason": "b holds messages of the same cluster before and after it, and not this one",
    }  # fmt: skip
    return row | more


def compared_subscription(name: str, subscription: str, side: str, **more: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "topic": name, "topic_b": name, "subscription": subscription, "side": side, "replicated": True,
        "open_messages": 7, "again_messages": 3, "again_entries": 2, "acked_messages": 2, "acked_entries": 1,
        "absent_messages": 4, "absent_entries": 4, "sureness": "certain", "reason": "both states are known",
    }  # fmt: skip
    return row | more


def comparison(topics: Sequence[dict[str, Any]], verdict: str, **more: Any) -> ComparisonModel:
    values: dict[str, Any] = {
        "cluster": "eu", "out": "/audits/compared", "verdict": verdict, "sides": SIDES, "topics": topics,
        "differences": {}, "subscriptions": [], "findings": [], "exit_code": 0, "made_ms": STARTED_MS,
        "versions": VERSIONS,
    }  # fmt: skip
    return ComparisonModel(**values | more)


ORDERS, SAME = "persistent://shop/eu/orders", "persistent://shop/eu/same"


def differing_clusters() -> ComparisonModel:
    """Messages that B lacks, holds twice and holds otherwise; a failover that would skip some."""
    rows = [
        *(difference(ORDERS, "missing", "b", number) for number in range(3)),
        difference(ORDERS, "duplicate", "b", 0, b_ledger_id=104, b_entry_id=6, sureness="likely", reason="no checksum"),
        difference(ORDERS, "content", "both", 1, b_ledger_id=104, b_entry_id=7, replicated_from="us"),
    ]
    topics = [
        compared_topic(SAME, "equal", messages_b=1000),
        compared_topic(ORDERS, "differs", missing_b=3, duplicate_b=1, content_both=1, unsure=1, topic_b=f"{ORDERS}-b"),
    ]
    subscriptions = [
        compared_subscription(SAME, "audit", "a", acked_messages=None, absent_messages=None, open_messages=None,
                              again_messages=None, sureness="cannot_tell", reason="no state was saved"),
        compared_subscription(ORDERS, "billing", "b"),
    ]  # fmt: skip
    words = f"Messages that are missing on one side, on B: 3, in {ORDERS}."
    found = [finding("D01", f"{ORDERS} b", words, topic=ORDERS, count=3, evidence=("a 10:0", "a 10:1"))]
    return comparison(
        topics, "differs", differences={ORDERS: rows}, subscriptions=subscriptions, findings=found, exit_code=1
    )


def equal_clusters() -> ComparisonModel:
    return comparison([compared_topic(SAME, "equal", messages_b=1000)], "equal")


def hostile_clusters(texts: Sequence[str]) -> ComparisonModel:
    """Every text that a log, a name or a tampered table can give."""
    topics, rows, subscriptions, found = [], {}, [], []
    for text in texts:
        topics.append(compared_topic(text, "cannot_tell", topic_b=text * 2, missing_a=1))
        strange = {"producer_name": text, "replicated_from": text, "chunk_uuid": text, "reason": text, "sureness": text}
        rows[text] = [difference(text, "broken", "a", 0, **strange, publish_time_ms=1 << 62)]
        subscriptions.append(compared_subscription(text, text, "b", reason=text, sureness=text))
        found.append(finding("D05", text, text, topic=text, reason=text, evidence=(text,)))
    side = ComparedSide(texts[0], texts[1], texts[2])
    return comparison(
        topics, "cannot_tell", differences=rows, subscriptions=subscriptions, findings=found,
        sides={"a": side, "b": side}, out=texts[0], cluster=texts[1], versions={texts[3]: texts[4]},
    )  # fmt: skip
