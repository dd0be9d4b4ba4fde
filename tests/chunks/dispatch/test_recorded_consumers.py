"""Predictions for several consumers against what real ones did."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import consumers
from bench.consumer_cells import ALL_ENTRIES, Cell, outcome_of, read_cells, setting_of
from pulsar_backlog.chunks.dispatch.outcomes import Outcome, predict
from pulsar_backlog.chunks.dispatch.play import play
from pulsar_backlog.chunks.dispatch.settings import ConsumerSettings, Setting, Slice, Step, client_named

RECORDED = Path(__file__).resolve().parents[2] / "data" / "consumers"
CELLS = list(read_cells(RECORDED))


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_every_recorded_run_is_predicted_and_nothing_certain_is_wrong(cell: Cell) -> None:
    prediction = predict(cell.setting, play)
    assert set(cell.outcomes) <= prediction.outcomes.keys()
    assert all(prediction.certain.holds_in(outcome) for outcome in cell.outcomes)


@pytest.mark.parametrize("cell", [cell for cell in CELLS if len(set(cell.outcomes)) == 1], ids=lambda cell: cell.name)
def test_where_all_repeats_agree_one_outcome_is_predicted(cell: Cell) -> None:
    assert list(predict(cell.setting, play).outcomes) == [cell.outcomes[0]]


def test_the_same_seed_gives_the_same_outcome() -> None:
    setting = CELLS[0].setting
    assert [play(setting, seed) for seed in range(20)] == [play(setting, seed) for seed in range(20)]


def test_an_outcome_is_read_with_its_ranges_and_other_topics() -> None:
    raw = {
        "final": {"mark_delete": -1, "deleted": "[(0..1],(2..4]]", "backlog": 3},
        "delivered_anyone": {"B": 1, "A": 2},
        "other_topics": {"s-DLQ": [["A", None, None]]},
    }
    others = (("s-DLQ", (("A", None, None),)),)
    assert outcome_of(raw) == Outcome((("A", 2), ("B", 1)), -1, ((0, 1), (2, 4)), 3, others)


def test_the_score_counts_runs_and_exceptions(capsys: pytest.CaptureFixture[str]) -> None:
    assert consumers.main([str(RECORDED), "--only", "B-kill-mid"]) == 0
    table = capsys.readouterr().out
    assert table.splitlines()[1].split() == ["B", "1", "3", "3", "0", "1", "1", "1"]


def test_a_cell_that_nobody_can_play_counts_as_not_predicted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = json.loads(gzip.decompress((RECORDED / "runs" / "B-kill-mid-live-j408.4.0.8.json.gz").read_bytes()))
    cell["steps"].append(["juggle"])
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "B-odd.json.gz").write_bytes(gzip.compress(json.dumps(cell).encode()))
    assert consumers.main([str(tmp_path)]) == 0
    out = capsys.readouterr()
    assert out.out.splitlines()[1].split() == ["B", "1", "3", "0", "0", "0", "1", "0"]
    assert "B-odd: not played: no step 'juggle'" in out.err


def dead_cell() -> dict[str, Any]:
    return json.loads(gzip.decompress((RECORDED / "runs" / "B-kill-mid-live-j408.4.0.8.json.gz").read_bytes()))


@pytest.mark.parametrize(
    ("where", "odd", "fault"),
    [
        # an option of a consumer, an application's rule, a setting of the broker: each could change everything
        (("consumers", "c1"), {"priority": 3}, "no model of the consumer setting 'priority'"),
        (("consumers", "c1"), {"policy": {"default": "ack", "afterMs": 9}}, "no model of the policy 'afterMs'"),
        (("other_settings",), {"deduplication": True}, "no model of the setting 'deduplication'"),
        (("consumers", "c1"), {"client": "rust-5.0"}, "what 'rust-5.0' does cannot be told"),
    ],
)
def test_a_setting_without_a_model_is_named(where: tuple[str, ...], odd: dict[str, Any], fault: str) -> None:
    cell = dead_cell()
    target = cell
    for key in where:
        target = target[key]
    target.update(odd)
    with pytest.raises(ValueError, match=fault):
        setting_of(cell)


@pytest.mark.parametrize(
    ("step", "made"),
    [
        (["http", "POST", "/subscription/s/skip/2"], Step("skip", (2,))),
        (["http", "POST", "/subscription/s/skip_all"], Step("skip", (ALL_ENTRIES,))),
        (["http", "POST", "/subscription/s/expireMessages/9"], Step("expire", (9,))),
        (["resetcursor", "earliest"], Step("reset", (0,))),
        (["resetcursor", 4], Step("reset", (4,))),
    ],
)
def test_what_an_administrator_did_is_read(step: list[object], made: Step) -> None:
    cell = dead_cell()
    cell["steps"] = [step]
    assert setting_of(cell).steps == (made,)


def test_another_request_of_an_administrator_is_named() -> None:
    cell = dead_cell()
    cell["steps"] = [["http", "DELETE", "/subscription/s"]]
    with pytest.raises(ValueError, match="no model of the request DELETE /subscription/s"):
        setting_of(cell)


@pytest.mark.parametrize("ranges", [[[0, 9], [20, 29]], ["0-9", "20-29"], [{"start": 0, "end": 9}, [20, 29]]])
@pytest.mark.parametrize("key", ["sticky", "ranges", "keyRanges"])
def test_sticky_ranges_are_read_however_they_are_written(key: str, ranges: object) -> None:
    cell = dead_cell()
    cell["consumers"]["c1"][key] = ranges
    assert setting_of(cell).consumers["c1"].key_ranges == ((0, 9), (20, 29))


def test_one_range_needs_no_list_around_it() -> None:
    cell = dead_cell()
    cell["consumers"]["c1"]["sticky"] = [0, 9]
    assert setting_of(cell).consumers["c1"].key_ranges == ((0, 9),)


def test_entries_without_a_key_have_their_producer_and_sequence_id() -> None:
    cell = dead_cell()
    cell["runs"][0]["messages"]["A"].update(producer="pX", sequence_id=7)
    assert setting_of(cell).keys["A"] == "pX-7"


def test_a_retry_topic_keeps_go_from_acknowledging_chunked_messages() -> None:
    cell = dead_cell()
    cell["consumers"]["c1"].update(client="go-0.19.0", retryTopic="again")
    consumer = setting_of(cell).consumers["c1"]
    assert (consumer.acknowledges_chunks, consumer.retry_topic, consumer.retries_allowed) == (False, "again", 16)


def test_a_step_without_a_model_is_named() -> None:
    setting = replace(CELLS[0].setting, steps=(Step("juggle"),))
    with pytest.raises(ValueError, match="no model of the step 'juggle'"):
        play(setting, 0)


def test_expiry_ticks_of_java_come_in_this_millisecond_or_in_the_next() -> None:
    # the rest of A comes between the first tick, which may be a millisecond too early for it, and the second
    one = {"c1": ConsumerSettings(client_named("java-4.0"), expiry_ms=1000)}
    steps = (Step("start", ("c1",)), publish("A0/2"), Step("wait", (1400,)), publish("A1/2"), Step("wait", (300,)))
    setting = Setting("4.0", "Exclusive", one, steps)
    assert {dict(outcome.delivered).get("A", 0) for outcome in seeds(setting)} == {0, 1}


def two_java(broker: str, **options: object) -> dict[str, ConsumerSettings]:
    client = client_named(f"java-{broker}")
    return {name: ConsumerSettings(client, queue=10, nack_delay_ms=200, **options) for name in ("c1", "c2")}  # type: ignore[arg-type]


def publish(tokens: str) -> Step:
    made = []
    for token in tokens.split():
        label, chunk_id, chunks = token[0], int(token[1]), int(token[3])
        made.append(Slice(label, chunk_id, chunks))
    return Step("publish", tuple(made))


LOG = "A0/3 B0/2 A1/3 B1/2 A2/3 C0/2 C1/2"
"""Whole messages; as in the recordings."""


def seeds(setting: Setting) -> Counter[Outcome]:
    return Counter(play(setting, seed) for seed in range(70))


def test_a_dead_letter_of_java_4_2_after_a_nack_leaves_its_first_chunks_at_the_source() -> None:
    one = {"c1": two_java("4.2", policy={"default": "ack", "A": "nack"}, dead_letter_max=2)["c1"]}
    setting = Setting("4.2", "Shared", one, (Step("start", ("c1",)), publish(LOG), Step("idle", (2500, 20))))
    (outcome,) = seeds(setting)
    assert (outcome.backlog, dict(outcome.delivered)["A"]) == (2, 3)
    assert outcome.other_topics == (("s-DLQ", (("A", None, None),)),)


def test_a_retry_acknowledges_the_source_and_comes_again() -> None:
    one = {"c1": two_java("4.2", policy={"default": "ack", "A": "later:1"})["c1"]}
    setting = Setting("4.2", "Shared", one, (Step("start", ("c1",)), publish(LOG), Step("idle", (1500, 20))))
    (outcome,) = seeds(setting)
    assert (outcome.backlog, dict(outcome.delivered)) == (0, {"A": 2, "B": 1, "C": 1})
    assert outcome.other_topics == (("s-RETRY", (("A", None, None),)),)


def test_go_with_a_retry_topic_acknowledges_no_chunked_message_and_a_retry_only_its_last_chunk() -> None:
    go = ConsumerSettings(client_named("go"), queue=10, policy={"default": "ack", "A": "later:1"})
    setting = Setting("4.0", "Shared", {"c1": go}, (Step("start", ("c1",)), publish(LOG), Step("idle", (1500, 20))))
    (outcome,) = seeds(setting)
    assert outcome.backlog == 6


def test_a_pin_outlives_its_consumer_until_all_leave() -> None:
    consumers_ = {**two_java("4.2"), "c3": two_java("4.2")["c1"]}
    dead = (
        Step("start", ("c1",)), publish("A0/3"), Step("idle", (300,)), Step("start", ("c2",)), Step("kill", ("c1",)),
        Step("idle", (300,)), publish("A1/3 A2/3"), Step("idle", (300,)),
    )  # fmt: skip
    (stuck,) = seeds(Setting("4.2", "Shared", consumers_, dead))
    assert (stuck.delivered, stuck.backlog) == ((), 3)
    freed = (*dead, Step("close", ("c2",)), Step("idle", (200,)), Step("start", ("c3",)), Step("idle", (300,)))
    (outcome,) = seeds(Setting("4.2", "Shared", consumers_, freed))
    assert (outcome.delivered, outcome.backlog) == ((("A", 1),), 0)


def test_dropped_last_chunks_leak_permits_until_nothing_comes_any_more() -> None:
    one = {"c1": ConsumerSettings(client_named("java-4.2"), queue=4)}
    gaps = " ".join(f"{label}0/3 {label}2/3" for label in "ABCD")
    setting = Setting(
        "4.2", "Shared", one,
        (Step("start", ("c1",)), publish(gaps), Step("idle", (300,)), publish("E0/2 E1/2"), Step("idle", (300,))),
    )  # fmt: skip
    (outcome,) = seeds(setting)
    assert outcome.delivered == ()
    python = {"c1": ConsumerSettings(client_named("python"), queue=4)}
    (outcome,) = seeds(replace(setting, consumers=python))
    assert outcome.delivered == (("E", 1),)


@pytest.mark.parametrize(("client", "backlog"), [("java-4.2", 0), ("python", 1), ("go", 2)])
def test_a_serialised_id_acknowledges_what_its_client_makes_of_it(client: str, backlog: int) -> None:
    one = {"c1": ConsumerSettings(client_named(client), policy={"default": "ackser"})}
    steps = (Step("start", ("c1",)), publish("A0/3 A1/3 A2/3"), Step("idle", (300,)))
    (outcome,) = seeds(Setting("4.2", "Shared", one, steps))
    assert outcome.backlog == backlog


def test_a_subscription_that_begins_in_mid_message_gets_nothing() -> None:
    steps = (
        publish("A0/3"), Step("begin"), Step("start", ("c1",)), Step("start", ("c2",)), publish("A1/3 A2/3 B0/2 B1/2"),
        Step("idle", (500,)),
    )  # fmt: skip
    (outcome,) = seeds(Setting("4.2", "Shared", two_java("4.2"), steps))
    assert (outcome.delivered, outcome.mark_delete, outcome.backlog) == ((), 0, 4)
