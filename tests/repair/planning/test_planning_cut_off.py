"""Plans that republish what lies behind the recorded end of a ledger: only what is proved, and in order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.repair.origin import Origin
from pulsar_backlog.repair.planning.cut_off import more_cut_off
from pulsar_backlog.repair.planning.cut_off_values import CutOff, cut_off_of
from pulsar_backlog.repair.planning.folder import store_plan
from pulsar_backlog.repair.planning.plan import Planned, plan_repair
from pulsar_backlog.repair.planning.values import Choices, Subscription
from pulsar_backlog.repair.values import Action, AsStored, Message, Plan, StoredEntry, read_plan
from tests.repair.plan_rows import TOPIC, topic


def cut(entry_id: int, **other: Any) -> CutOff:
    """A message that was certainly confirmed, the third of producer `p`'s ids being that of entry 4."""
    entry = StoredEntry((5, entry_id), "bookie1/current/0.log", 100 * entry_id, 80, 7)
    usual = CutOff(
        position=(5, entry_id), grade="certain", reason="Entry 9 names entry 8.", producer="p",
        sequence_id=entry_id - 1, publish_time_ms=1000 + entry_id, size_bytes=11,
        as_stored=AsStored("/books", (entry,)),
    )  # fmt: skip
    return replace(usual, **other)


def planned(*rows: CutOff, name: str = TOPIC, **choices: Any) -> Planned:
    facts = topic(Subscription("s"), name=name, cut_off=rows)
    return plan_repair("c", [facts], Choices(**{"cut_off": "new", **choices}))


def republished(found: Planned) -> list[Action]:
    return [action for action in found.plan.actions if action.kind == "republish"]


@pytest.mark.parametrize(("how", "is_own"), [("new", False), ("own", True)])
def test_each_in_order_and_only_after_the_one_before(how: str, is_own: bool) -> None:
    found = planned(cut(6), cut(4), cut(5, grade="likely"), cut_off=how)
    actions = republished(found)
    assert [action.message and action.message.original for action in actions] == [(5, 4), (5, 5), (5, 6)]
    assert [action.requires for action in actions] == [(), (0,), (1,)]
    assert {action.kind for action in found.plan.actions} == {"republish"}
    assert {(action.cause, action.codes, action.topic, action.subscription) for action in actions} == {
        ("cut_off", ("S69",), TOPIC, None)
    }
    assert [action.message and action.message.origin for action in actions] == [
        Origin("p", number, is_own) for number in (3, 4, 5)
    ]
    assert "was told that this message is stored" in actions[0].reason
    assert "was likely told" in actions[1].reason
    assert "all of them get it: 's'" in actions[0].affects
    assert ("Stop producer 'p' for good" in actions[0].affects) is is_own


def test_nothing_unless_it_is_wanted() -> None:
    assert planned(cut(4), cut_off=None) == Planned(Plan("c", ()), {}, (), 0)
    assert planned(cut(4), codes=frozenset({"C25"})).plan.actions == ()
    assert len(republished(planned(cut(4), codes=frozenset({"S69"})))) == 1
    assert len(republished(planned(cut(4), cut(5), until_ms=1004))) == 1
    assert [action.number for action in republished(planned(cut(4), cut(5), cut(6), max_count=2))] == [0, 1]


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"grade": "cannot_tell"}, "nothing proves that its producer was told that it is stored"),
        ({"grade": "a word of a later version"}, "nothing proves that its producer was told that it is stored"),
        ({"hindrance": "chunk"}, "it is a chunk"),
        ({"hindrance": "transaction"}, "it belongs to a transaction"),
        ({"hindrance": "marker"}, "no message"),
        ({"hindrance": "replicated"}, "replicated from another cluster"),
        ({"hindrance": "copy"}, "would make a loop"),
        ({"hindrance": "unknown_fields"}, "fields that this version does not know"),
        ({"hindrance": "checksum"}, "no matching checksum"),
        ({"hindrance": "later"}, "it is hindered by later"),
        ({"hindrance": None}, "the audit does not say"),
        ({"as_stored": None}, "the audit does not say"),
        ({"republished": "unclear"}, "nobody knows how that ended"),
    ],
)
def test_what_is_held_back(other: dict[str, Any], why: str) -> None:
    found = planned(cut(4, **other), cut(5))
    assert [action.message and action.message.original for action in republished(found)] == [(5, 5)]
    assert republished(found)[0].requires == ()
    ((held),) = found.held_back
    assert held.why.startswith("the entry behind the end 5:4: ")
    assert why in held.why


def test_what_a_plan_published_is_not_published_again() -> None:
    found = planned(cut(4, republished="done"), cut(5))
    assert [action.message and action.message.original for action in republished(found)] == [(5, 5)]
    assert found.held_back == ()


def test_a_producer_that_went_on_is_not_spoken_for() -> None:
    found = planned(cut(4, went_on=True), cut_off="own")
    assert republished(found) == []
    assert [held.next_step for held in found.held_back] == ["plan with --cut-off new"]
    (action,) = republished(planned(cut(4, went_on=True)))
    assert "its producer has stored other messages behind the end: this one comes after them" in action.evidence


def test_segments_are_left_alone() -> None:
    found = planned(cut(4), name="segment://t/n/one/0000-7fff-0")
    assert found.plan.actions == ()
    assert "segment of a scalable topic" in found.held_back[0].why


def test_more_than_a_plan_takes_is_said() -> None:
    rows = [("t", cut(entry)) for entry in (4, 5, 6)]
    assert more_cut_off(rows, 3) == ()
    assert "one plan looks at the first 2" in more_cut_off(rows, 2)[0].why


def test_batches_and_encrypted_ones_say_so() -> None:
    (action,) = republished(planned(cut(4, batch_size=3, encrypted=True)))
    assert "this batch of 3 messages is stored" in action.reason
    assert "It is a batch" in action.undo
    assert "need a key" in action.affects
    assert action.message is not None
    assert action.message.was_encrypted


def test_a_row_becomes_what_is_planned() -> None:
    row = {
        "ledger_id": 5, "entry_id": 4, "grade": "certain", "reason": "Entry 9 names entry 8.", "producer_name": "p",
        "sequence_id": 3, "publish_time_ms": 1004, "payload_length": 11, "hindrance": "", "messages": 1,
        "batched": False, "encrypted": False, "went_on": False, "checksum": 7, "uri": "bookie1/current/0.log",
        "offset": 400, "length": 80,
    }  # fmt: skip
    assert cut_off_of(row, "/books", {}) == cut(4)
    assert cut_off_of(row, "/books", {(5, 4): "done"}).republished == "done"
    assert cut_off_of({**row, "checksum": None}, "/books", {}).as_stored is None
    assert cut_off_of({**row, "batched": True}, "/books", {}).batch_size == 1


def test_a_plan_of_them_is_read_as_it_was_written(tmp_path: Path) -> None:
    found = planned(cut(4), cut_off="own")
    store_plan(tmp_path, found, {})
    assert read_plan(tmp_path).actions == found.plan.actions


def test_other_plans_keep_their_ids() -> None:
    """The id is a digest of the lines: a field that only these messages have is not in others' lines."""
    plan = Plan("c", (Action(0, "republish", TOPIC, "r", message=Message((1, 2), "ab" * 32, 3)),))
    assert plan.plan_id == "3c7a6cce5f81315e"
