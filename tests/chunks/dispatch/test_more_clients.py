"""Rust, which knows no chunks, and WebSockets, whose proxy is a Java client: recorded runs against the models."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.chunks.dispatch.forecast import StoredEntry, consumers_of, forecast
from pulsar_backlog.chunks.dispatch.outcomes import Outcome, predict
from pulsar_backlog.chunks.dispatch.play import play
from pulsar_backlog.chunks.dispatch.remedies import best_remedy, tried_remedies
from pulsar_backlog.chunks.dispatch.settings import ConsumerSettings, Setting, Slice, Step, client_named
from pulsar_backlog.report.outlook import consumer_words

DATA = Path(__file__).resolve().parents[2] / "data" / "more_clients"
Recorded = tuple[str, Any, dict[str, Any]]
"""A client, its broker's release line, and one run."""
RECORDED: list[Recorded] = [
    (*path.stem.split(".broker-"), run)  # type: ignore[misc]
    for path in sorted(DATA.glob("*.json"))
    for run in json.loads(path.read_text())
]
ACKNOWLEDGED = [one for one in RECORDED if one[2]["application"] == "ack"]
REJECTED = [
    one
    for one in RECORDED
    if one[0].startswith("websocket") and one[2]["application"] == "nack" and one[2]["subscription_type"] == "Shared"
]


def slices(log: str) -> tuple[Slice, ...]:
    return tuple(
        Slice(token[1:], None, 1) if token[0] == "." else Slice(token[0], int(token[1]), int(token[3]))
        for token in log.split()
    )


def setting(recorded: Recorded, policy: str) -> Setting:
    client, broker, run = recorded
    consumer = ConsumerSettings(client_named(client), policy={"default": policy}, nack_delay_ms=500)
    steps = (Step("stored", slices(run["log"])), Step("start", ("c1",)), Step("wait", (4_000,)))
    return Setting(broker, run["subscription_type"], {"c1": consumer}, steps)


def delivered(recorded: Recorded) -> Counter[str]:
    """Messages that came whole, by label; to Rust only those that are no chunk."""
    client, _broker, run = recorded
    entries = slices(run["log"])
    if client.startswith("rust"):
        return Counter(entries[at].label for at in run["got"] if entries[at].chunk_id is None)
    return Counter(label for label, size, _count in run["got"] if size in (run["bytes"], 1))


@pytest.mark.parametrize("recorded", ACKNOWLEDGED, ids=lambda one: f"{one[0]}, {one[2]['log']}")
def test_a_recorded_run_is_the_one_outcome_that_is_predicted(recorded: Recorded) -> None:
    policy = "ackser" if recorded[0].startswith("websocket") else "ack"  # a WebSocket names messages by serialised ids
    (outcome,) = predict(setting(recorded, policy), play).outcomes
    run = recorded[2]
    ranges = tuple((first, last) for first, last in run["deleted"])
    assert outcome == Outcome(tuple(sorted(delivered(recorded).items())), run["mark_delete"], ranges, run["backlog"])


@pytest.mark.parametrize(
    "recorded", [one for one in REJECTED if one[0].startswith("websocket")], ids=lambda one: one[0]
)
def test_a_rejected_message_comes_to_a_websocket_as_it_comes_to_its_proxys_java(recorded: Recorded) -> None:
    played = [dict(play(setting(recorded, "nack"), seed).delivered)["A"] for seed in range(20)]
    comes_again = delivered(recorded)["A"] > 1
    assert comes_again == (recorded[1] != "4.0")  # Java 4.0 asks for the last chunk only
    assert {count > 1 for count in played} == {comes_again}


def stored(log: str) -> list[StoredEntry]:
    return [
        StoredEntry("" if one.chunk_id is None else one.label, one.chunk_id, one.num_chunks, None)
        for one in slices(log)
    ]


def test_what_rust_acknowledges_is_lost_though_the_subscription_drains() -> None:
    (stage,) = forecast(stored("A0/2 .B A1/2"), consumers_of("rust 6.9", 1000), (), broker="4.2", dispatch="Shared")
    assert (stage.delivered, stage.certain.backlog, stage.eaten) == ((1, 1), (0, 0), ("A",))


def test_beside_others_the_remedy_is_to_keep_it_away() -> None:
    entries, group = stored("A0/2 B0/2 C0/2 A1/2 B1/2 C1/2"), consumers_of("rust, java 4.2", 1000)
    (base,) = forecast(entries, group, (), broker="4.2", dispatch="Shared")
    assert base.eaten or base.endangered
    remedy = best_remedy(base, list(tried_remedies(entries, group, "4.2", "Shared")))
    assert remedy is not None
    assert (remedy.name, remedy.stage.eaten, remedy.stage.delivered) == ("without rust", (), (3, 3))


@pytest.mark.parametrize("consumers", ["rust 5.1", "rust 6.9 rejects 2", "rust times out 2"])
def test_what_was_not_recorded_cannot_be_told(consumers: str) -> None:
    with pytest.raises(ValueError, match="cannot be told"):
        consumers_of(consumers, 1000)


def test_what_rust_makes_of_compressed_chunks_cannot_be_told() -> None:
    entries = [entry._replace(compressed=True) for entry in stored("A0/2 A1/2")]
    with pytest.raises(ValueError, match="what Rust does cannot be told: messages are compressed"):
        forecast(entries, consumers_of("rust", 1000), (), broker="4.2", dispatch="Shared")
    with pytest.raises(ValueError, match="messages are compressed"):
        forecast(entries, consumers_of("java 4.2", 1000), ["join rust"], broker="4.2", dispatch="Shared")
    assert forecast(entries, consumers_of("java 4.2", 1000), (), broker="4.2", dispatch="Shared")[0].delivered == (1, 1)


def test_statistics_name_rust() -> None:
    assert consumer_words(["pulsar-rs-v6.9.1", "Pulsar-Java-v4.0.8"], 2) == ("rust 6.9, java 4.0", "saved")
    assert consumer_words(["pulsar-rs-v5.1.0"], 1) == ("java 4.2", "assumed")
