"""Subscriptions and clients of sample reports."""

from __future__ import annotations

from typing import Any

from pulsar_backlog.report.acks import (
    CELLS,
    MAX_STALLS,
    MAX_SUBSCRIPTIONS,
    AckCell,
    Acks,
    Axis,
    BlockedRow,
    StallRow,
    SubscriptionFacts,
    SubscriptionRow,
    TopicAcks,
)
from pulsar_backlog.report.clients import DANGEROUS, OUTCOMES, Example, ForecastRow, ModelSum, TopicClients
from pulsar_backlog.report.growth import GrowthRow
from pulsar_backlog.subscriptions.advice import Advice, NeedCount, SetFacts, advice_on, need_of

ADVICE = (
    "The message is stored whole, nothing of it is acknowledged, and the subscription went on (4 entries "
    "unacknowledged); nothing behind it is delivered. Export it, verify the export, then acknowledge its entries."
)


def subscription(name: str, **more: Any) -> SubscriptionRow:
    row: dict[str, Any] = dict.fromkeys(SubscriptionRow.__annotations__)
    row |= {
        "subscription": name, "kind": "subscription", "subscription_type": "Shared", "consumers": 0, "state": "whole",
        "sureness": "certain", "reason": "read from the broker's memory", "stalls": 0, "limits_from": "settings",
        "over_limits": [], "holes": 0, "hole_entries": 0, "batch_holes": 0, "backlog_entries": 0,
        "backlog_messages": 0, "backlog_bytes": 0, "unstored_entries": 0, "redelivered_entries": 0,
        "redelivered_bytes": 0,
    }  # fmt: skip
    return row | more  # type: ignore[return-value]


def stall(uuid: str, at: tuple[int, int], **more: Any) -> StallRow:
    row: dict[str, Any] = {
        "chunk_uuid": uuid, "publish_time_ms": 1, "code": "K07", "kind": "whole_hole",
        "unacked_positions": [{"ledger_id": at[0], "entry_id": at[1]}], "unacked_entries": 4, "unacked_bytes": 8000,
        "blocks_dispatch": True, "action": "export_then_acknowledge", "sureness": "likely",
        "reason": "it depends on the client and its settings", "advice": ADVICE,
    }  # fmt: skip
    row |= more
    needs = need_of(SetFacts(row["action"], True, False, False, row["action"].startswith("export"), 0))
    return {"need": needs} | row  # type: ignore[return-value]


def forecast(model: str, publications: int = 3, **more: Any) -> ForecastRow:
    row: dict[str, Any] = dict.fromkeys(ForecastRow.__annotations__)
    row |= dict.fromkeys(OUTCOMES, 0)
    row |= {
        "model": model, "builds": f"{model} 4.0 and later", "publications": publications, "delivered": publications,
        "holes": 0, "permits_kept": 0, "peak_open_contexts": 1, "peak_buffered_bytes": 8000, "sureness": "certain",
    }  # fmt: skip
    return row | more  # type: ignore[return-value]


def growth(direction: str, **more: Any) -> GrowthRow:
    row: dict[str, Any] = dict.fromkeys(GrowthRow.__annotations__) | {
        "direction": direction, "nights": 5, "growth_entries": 0, "counted_by": "ledgers",
    }  # fmt: skip
    return row | more  # type: ignore[return-value]


def blocked_acks() -> TopicAcks:
    """Ledger 13 with 9 entries: one subscription stands before a payload that no client can decompress."""
    blocked = SubscriptionFacts(
        subscription(
            "billing", stalls=1, backlog_entries=5, backlog_messages=5, backlog_bytes=9000, holes=1, hole_entries=1,
            mark_delete_ledger_id=13, mark_delete_entry_id=0, read_ledger_id=13, read_entry_id=5,
            oldest_unacked_ledger_id=13, oldest_unacked_entry_id=1, oldest_unacked_what="message", state_bytes=240,
            oldest_unacked_ms=1_700_000_000_000, oldest_unacked_broker_ms=1_700_000_005_000,
            encoding="long_array", ranges_bytes=40, long_array_bytes=24, redelivered_entries=3, redelivered_bytes=700,
            redelivered_from={"ledger_id": 13, "entry_id": 2}, limits_from="assumed", over_limits=["ranges"],
            dropped_entries=3, rollback_ledger_id=13, rollback_entry_id=-1, rollback_entries=4, rollback_bytes=6000,
        ),
        blocked_at=(13, 3),
        blocked_sureness="certain",
        cells=(AckCell(1, 1, 1, 0, False), *(AckCell(at, 1, 0, int(at == 3), at == 3) for at in (3, 4, 5, 6))),
        stalls=(stall("bz-0", (13, 3)), stall("bz-1", (13, 7), blocks_dispatch=False, action="wait", advice="Wait.")),
        stall_total=9,
        advice=advice_on([NeedCount("export", 1, True), NeedCount("wait", 8)], ["java reconnects for ever at 13:3"]),
        growth=growth("grows", growth_entries=3, lowest_per_day=1.0, highest_per_day=3.2),
    )  # fmt: skip
    unknown = SubscriptionFacts(
        subscription("audit", state="unknown", backlog_entries=None, reason="no saved state says where it is")
    )
    done = SubscriptionFacts(
        subscription("done", subscription_type=None, mark_delete_ledger_id=13, mark_delete_entry_id=8),
        growth=growth("empty", growth_entries=-4),
    )
    axis = Axis(tuple((13, at) for at in range(9)), (1,) * 9, (13, 8))
    return TopicAcks(axis, (blocked, unknown, done), 14, 1)


def all_acks(topic: str) -> Acks:
    advice = advice_on([NeedCount("export", 1, True), NeedCount("wait", 8)], ["java reconnects for ever at 13:3"])
    row = BlockedRow(topic, "billing", "Shared", 13, 3, "certain", advice, "export_then_acknowledge", 5, 9000)
    return Acks(40, 3, 2, (row, row), {"certain": 2})


def topic_clients() -> TopicClients:
    """Java loops, Go acknowledges a whole message without delivering it."""
    java = forecast(
        "java", delivered=1, breaks_client=1, blocked=1, damage="reconnect_loop", damage_ledger_id=13,
        damage_entry_id=3, damage_reason="the payload does not decompress as the metadata says",
    )  # fmt: skip
    go = forecast("go", delivered=2, silent_loss=1)
    example = Example("go", "silent_loss", 1, 13, 3, "likely", "an unusable chunk was acknowledged")
    broken = Example("java", "breaks_client", 1, 13, 3, "certain", "")
    return TopicClients((java, go), (broken, example))


def model_sums(topic: str) -> tuple[ModelSum, ...]:
    none = dict.fromkeys(OUTCOMES, 0)
    return (
        ModelSum("go", none | {"delivered": 2, "silent_loss": 1}),
        ModelSum("java", none | {"delivered": 1, "breaks_client": 1}, 1, "reconnect_loop", topic, 13, 3),
    )


def many_holes(topic_at: int = 1) -> TopicAcks:
    """As much as a topic can have: strips of ten thousand holes in a million entries, sets without end."""
    size = 10_000
    axis = Axis(tuple((topic_at, at * size) for at in range(CELLS)), (size,) * CELLS, (topic_at, CELLS * size - 1))
    cells = tuple(AckCell(at, 105.0 + at * 97, 105, at % 5, at == 7) for at in range(CELLS))
    facts = tuple(
        SubscriptionFacts(
            subscription(
                f"subscription-{n}", stalls=9000, backlog_entries=10_080, backlog_messages=10_080,
                backlog_bytes=99_000_000, holes=10_080, hole_entries=10_080, mark_delete_ledger_id=topic_at,
                mark_delete_entry_id=16, read_ledger_id=topic_at, read_entry_id=CELLS * size,
            ),
            blocked_at=(topic_at, 70_001),
            blocked_sureness="likely",
            cells=cells,
            stalls=tuple(stall(f"uuid-{n}-{k}", (topic_at, 70_001 + k), reason=str(k)) for k in range(MAX_STALLS)),
            stall_total=9000,
            advice=Advice((NeedCount("export", 9000, True),)),
        )
        for n in range(MAX_SUBSCRIPTIONS)
    )  # fmt: skip
    return TopicAcks(axis, facts, 1000, 1000)


def hostile_acks(text: str) -> TopicAcks:
    row = subscription(
        text, kind=text, subscription_type=text, state=text, sureness=text, reason=text, encoding=text, stalls=1,
        oldest_unacked_what=text, oldest_unacked_ledger_id=1, oldest_unacked_entry_id=0, state_bytes=1,
        limits_from=text, over_limits=[text], backlog_entries=3, mark_delete_ledger_id=-5, mark_delete_entry_id=-1,
        read_ledger_id=1 << 62, read_entry_id=1 << 62,
    )  # fmt: skip
    found = stall(text, (1, 0), code=text, kind=text, action=text, sureness=text, reason=text, advice=text)
    axis = Axis(((1, 0), (1, 2)), (2, 1), (1, 2))
    cells = (AckCell(0, 99.0, 1, 1, True), AckCell(77, 1.0, 1, 1, True))
    return TopicAcks(
        axis,
        (
            SubscriptionFacts(
                row,
                (1, 0),
                text,
                cells,
                (found,),
                1,
                advice_on([NeedCount("settle", 1)], [text]),
                growth=growth(text, nights=1 << 62, counted_by=text, growth_entries=1 << 62, growth_reason=text),
            ),
        ),
        1,
        1,
    )


def hostile_clients(text: str) -> TopicClients:
    row = forecast(
        text,
        builds=text,
        damage=text,
        damage_reason=text,
        sureness=text,
        damage_ledger_id=1,
        damage_entry_id=2,
        mixed=1,
    )
    examples = [Example(text, outcome, 2, 1, 0, text, text) for outcome in (*DANGEROUS, text)]
    return TopicClients((row,), tuple(examples))
