"""Which action each situation gets, in which order, and what is left alone instead."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from pulsar_backlog.errors import UsageError
from pulsar_backlog.repair.planning import words
from pulsar_backlog.repair.planning.plan import Planned, plan_repair
from pulsar_backlog.repair.planning.rows import topic_facts
from pulsar_backlog.repair.planning.topic import SETS_PER_ACTION
from pulsar_backlog.repair.planning.values import Choices, Restored, Subscription, TopicFacts, Unloadable
from pulsar_backlog.repair.values import Run
from pulsar_backlog.subscriptions.stall_values import Loss
from tests.repair.plan_rows import TOPIC, exported, publication, stall, topic, whole


def planned(*topics: TopicFacts, **choices: object) -> Planned:
    return plan_repair("c", topics, Choices(**choices))  # type: ignore[arg-type]


def reasons(found: Planned) -> list[str]:
    return [one.why for one in found.held_back]


def test_dead_chunks_of_one_subscription_are_one_action() -> None:
    found = planned(
        topic(
            publication("p-0"),
            publication("p-1", state="headless"),
            stall((1, 0), (1, 1)),
            stall((1, 2), (1, 4), uuid="p-1"),
            Subscription("sub", "Shared", (1, -1)),
        )
    )
    (action,) = found.plan.actions
    assert (action.kind, action.cause, action.subscription, action.sureness) == (
        "acknowledge",
        "dead_chunks",
        "sub",
        "certain",
    )
    assert action.runs == (Run(1, 0, 2), Run(1, 4, 4))
    assert (action.expected_mark_delete, action.expected_type) == ((1, -1), "Shared")
    assert (action.size_bytes, action.codes, len(action.evidence)) == (40, ("C24",), 2)
    assert "1:0" in action.undo
    assert found.held_back == ()


def test_nothing_is_done_in_a_segment_and_the_reason_is_said() -> None:
    facts = topic(publication(), stall((1, 0), (1, 1)), Subscription("sub", "Shared", (1, -1)))
    found = planned(replace(facts, topic="segment://t/n/one/0000-ffff-0"))
    assert found.plan.actions == ()
    (held,) = found.held_back
    assert (held.subscription, held.why) == ("sub", words.IN_SEGMENT)
    assert "topic://" in held.next_step


def test_a_run_never_spans_two_ledgers() -> None:
    (action,) = planned(topic(publication(), stall((1, 5), (2, 6)))).plan.actions
    assert action.runs == (Run(1, 5, 5), Run(2, 6, 6))


@pytest.mark.parametrize(
    ("sibling", "why"),
    [
        # The rest of a resend may still come and use these entries' uuid.
        (publication(time_ms=2000, state="in_flight", sureness="likely"), "may still be arriving"),
        # The other publication is whole: clients that do not tell the two apart need its chunks.
        (whole(time_ms=2000), "not exported and verified"),
        (whole(time_ms=2000, exported=exported(verified=False, reason="no key")), "could not be verified: no key"),
        (whole(time_ms=2000, exported=exported(transaction="open")), "transaction that is open"),
        (whole(time_ms=2000, exported=exported(transaction="cannot_tell")), "transaction that is open, or may be"),
        (publication(time_ms=2000, sureness="likely", reason="perhaps"), "not certain (likely): perhaps"),
        (publication(time_ms=2000, state="malformed"), "chunk fields are invalid"),
    ],
)
def test_a_sibling_under_the_uuid_that_could_be_had_holds_it_back(sibling: object, why: str) -> None:
    found = planned(topic(publication(), sibling, stall((1, 0))))  # type: ignore[arg-type]
    assert found.plan.actions == ()
    assert why in reasons(found)[0]


def test_the_users_risk_takes_what_is_likely_lost_and_says_so() -> None:
    facts = topic(publication(sureness="likely", reason="perhaps"), stall((1, 0)))
    assert planned(facts).plan.actions == ()
    (action,) = planned(facts, accept_unsure="likely").plan.actions
    assert action.sureness == "likely"


def test_what_no_export_verifies_is_given_up_only_where_one_of_its_entries_is_named() -> None:
    failed = whole(exported=exported(verified=False, reason="its chunks hold 8000 bytes, its metadata says 7000"))
    facts = topic(failed, stall((1, 0), (1, 1)), replace(stall((1, 0)), subscription="two"))
    left = planned(facts)
    assert left.plan.actions == ()
    assert {(one.at, "--give-up" in one.next_step) for one in left.held_back} == {("1:0", True)}
    found = planned(facts, give_up=frozenset({(1, 1)}))
    (action,) = found.plan.actions
    assert (action.cause, action.subscription, action.runs) == ("given_up", "sub", (Run(1, 0, 1),))
    assert action.sureness == "cannot_tell"
    assert "nobody gets them afterwards" in action.reason
    assert [one.subscription for one in found.held_back] == ["two"]


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (topic(publication(state="in_flight"), stall((1, 0))), "may still be arriving"),
        (topic(whole(), stall((1, 0))), "not exported and verified"),  # an export has to try first
        # Another key, limit or place would make this one verify.
        (topic(whole(exported=exported(verified=False, outcome="no_key", reason="payload_no_key: no")),
            stall((1, 0))), "payload_no_key"),
        (topic(whole(exported=exported(transaction="open")), stall((1, 0))), "transaction that is open"),
        (topic(publication(sureness="likely", reason="perhaps"), stall((1, 0))), "not certain (likely)"),
    ],
)  # fmt: skip
def test_what_could_be_had_is_not_given_up(facts: TopicFacts, why: str) -> None:
    found = planned(facts, give_up=frozenset({(1, 0)}))
    assert found.plan.actions == ()
    assert why in reasons(found)[0]


def test_nothing_waits_at_what_is_given_up() -> None:
    with pytest.raises(UsageError, match="waits at --give-up 7:7"):
        planned(topic(whole(), stall((1, 0))), give_up=frozenset({(1, 0), (7, 7)}))


def test_the_users_risk_takes_nothing_that_may_arrive_or_be_rebuilt() -> None:
    for state in (publication(state="in_flight"), whole(), publication(rebuildable=True)):
        assert planned(topic(state, stall((1, 0))), accept_unsure="cannot_tell").plan.actions == ()


def test_entries_that_are_not_only_its_own_stay() -> None:
    rows = stall((1, 0), (1, 1), (1, 2), (1, 3), (1, 4))
    a, b, c, d, e = rows.entries
    odd = (
        replace(a, holds_more=True),  # a batch with other messages
        replace(b, owner=("p-1", 1000)),  # another publication's chunk
        replace(c, is_sound=False),  # its uuid may be a lie
        replace(d, owner=None, role=None),  # not in `chunks` at all
        e,
    )
    found = planned(topic(publication(), replace(rows, entries=odd)))
    assert [action.runs for action in found.plan.actions] == [(Run(1, 4, 4),)]
    assert "batch" in reasons(found)[0]


def test_a_message_got_in_part_is_published_first_and_then_acknowledged() -> None:
    found = planned(
        topic(
            whole(exported=exported(key="k", properties={"b": "2", "a": "1"}, event_time_ms=7)),
            stall((1, 2), (1, 3), role="used", code="C23", acked_entries=2, action="export_then_acknowledge"),
            Subscription("sub"),
            Subscription("other"),
        )
    )  # fmt: skip
    publish, acknowledge = found.plan.actions
    assert (publish.kind, publish.cause, publish.topic, publish.subscription) == (
        "republish",
        "got_in_part",
        TOPIC,
        None,
    )
    message = publish.message
    assert message is not None
    assert (message.original, message.original_uuid, message.key, message.event_time_ms) == ((1, 9), "p-0", "k", 7)
    assert message.properties == {"a": "1", "b": "2"}
    assert message.original_topic is None
    assert "'other', 'sub'" in publish.affects
    assert (acknowledge.cause, acknowledge.requires) == ("exported", (publish.number,))
    assert found.sources == {0: (TOPIC, ("p-0", 1000))}


def test_one_message_is_published_once_for_all_subscriptions() -> None:
    row = stall((1, 2), role="used", acked_entries=1, action="export_then_acknowledge")
    found = planned(topic(whole(exported=exported()), row, replace(row, subscription="two")))
    assert [action.kind for action in found.plan.actions] == ["republish", "acknowledge", "acknowledge"]
    assert [action.requires for action in found.plan.actions] == [(), (0,), (0,)]


def test_surplus_copies_of_a_message_it_has_are_acknowledged_without_publishing() -> None:
    row = stall((1, 7), role="duplicate", kind="copies_only", acked_entries=4, action="export_then_acknowledge")
    found = planned(topic(whole(exported=exported()), row))
    assert [(action.kind, action.requires) for action in found.plan.actions] == [("acknowledge", ())]
    assert planned(topic(whole(), row)).plan.actions == ()


def test_a_message_is_published_with_all_that_it_was_published_with() -> None:
    row = stall((1, 2), role="used", acked_entries=1, action="export_then_acknowledge")
    odd = exported(
        key="/w==",
        key_is_bytes=True,
        ordering_key=b"\xff",
        replicate_to=("b",),
        schema_version=b"\x01",
        schema_id=b"\x02",
    )
    message = planned(topic(whole(exported=odd), row)).plan.actions[0].message
    assert message is not None
    assert (message.key, message.key_is_base64, message.ordering_key) == ("/w==", True, "/w==")
    assert (message.schema_version, message.schema_id, message.replicate_to) == ("AQ==", "Ag==", ("b",))
    action = planned(topic(whole(exported=odd), row), republish_to="persistent://t/n/repair").plan.actions[0]
    assert action.message is not None
    assert (action.message.schema_version, action.message.schema_id) == (None, None)
    assert "Its schema version has no meaning there" in action.affects


@pytest.mark.parametrize("odd", [{"transaction": "aborted"}, {"properties": {"pulsar-backlog.plan": "x"}}])
def test_hidden_and_repaired_messages_are_published_nowhere(odd: dict[str, object]) -> None:
    facts = topic(whole(exported=exported(**odd), losses=(Loss("python", "lost", ""),)))
    for to in ("same", "file", "persistent://t/n/repair"):
        assert planned(facts, republish_to=to).plan.actions == ()


def test_what_another_plan_published_is_not_published_again() -> None:
    row = stall((1, 2), role="used", acked_entries=1, action="export_then_acknowledge")
    lost = (Loss("python", "lost", ""),)
    done = planned(topic(whole(exported=exported(republished="done"), losses=lost), row))
    assert [(action.kind, action.requires) for action in done.plan.actions] == [("acknowledge", ())]
    unclear = planned(topic(whole(exported=exported(republished="unclear"), losses=lost), row))
    assert unclear.plan.actions == ()
    assert "apply that plan again" in reasons(unclear)[0]


def test_a_repair_topic_gets_it_with_its_origin() -> None:
    facts = topic(whole(exported=exported(), losses=(Loss("python", "lost", "repeated prefix"),)), Subscription("s"))
    (action,) = planned(facts, republish_to="persistent://t/n/repair").plan.actions
    assert action.topic == "persistent://t/n/repair"
    assert action.message is not None
    assert action.message.original_topic == TOPIC
    assert "repeated prefix" in " ".join(action.evidence)


def test_a_message_that_can_be_delivered_is_left_alone() -> None:
    found = planned(topic(whole(), stall((1, 0), can_complete=True, action="wait")))
    assert found.plan.actions == ()
    assert "reconnect" in reasons(found)[0]


def test_a_cursor_inside_a_whole_message_is_reset_and_nothing_else_is_done_to_it() -> None:
    inside = stall((1, 2), (1, 3), role="used", action="reset_to_first_chunk", acked_entries=2)
    inside = replace(inside, first_chunk=(1, 0), redelivered_entries=3)
    dead = stall((1, 9), uuid="p-1")
    found = planned(topic(whole(), publication("p-1"), inside, dead, Subscription("sub", "Exclusive", (1, 1))))
    (action,) = found.plan.actions
    assert (action.kind, action.target, action.expected_mark_delete) == ("reset_cursor", (1, 0), (1, 1))
    assert "3 entries of other messages" in action.affects
    assert "1:1" in action.undo
    assert "wait" in reasons(found)[0]


def test_lost_acknowledgements_are_made_again_where_the_earlier_state_is_certain() -> None:
    restored = Restored("sub", (Run(1, 3, 8),), 60, (1, 8), "certain", "")
    (action,) = planned(topic(Subscription("sub", None, (1, 2)), restored=(restored,))).plan.actions
    assert (action.kind, action.cause, action.runs, action.codes) == (
        "acknowledge",
        "restore",
        (Run(1, 3, 8),),
        ("K04",),
    )
    assert planned(topic(restored=(replace(restored, sureness="likely"),))).plan.actions == ()
    many = planned(topic(restored=(replace(restored, left_runs=3),)))
    assert len(many.plan.actions) == 1
    assert "3 more runs" in reasons(many)[0]
    found = planned(topic(restored=(replace(restored, batches=2),)))
    assert len(found.plan.actions) == 1
    assert "2 batches were acknowledged in part" in reasons(found)[0]
    assert planned(topic(restored=(replace(restored, runs=(), batches=2),))).plan.actions == ()


PINNED = Unloadable("pinned_to_dead", "C46", "2 entries of 3 unacknowledged are with no connected consumer", "Unload.")


def test_a_topic_is_unloaded_after_what_blocks_it_is_acknowledged() -> None:
    held_up = Subscription("sub", "Shared", (1, -1), (PINNED,))
    first, second = planned(topic(publication(), stall((1, 0)), held_up)).plan.actions
    assert (first.kind, second.kind, second.cause, second.codes) == (
        "acknowledge", "unload", "pinned_to_dead", ("C46",),
    )  # fmt: skip
    assert second.evidence == (f"pinned to dead: {PINNED.evidence}. Unload.",)
    assert "Python" in second.affects
    assert "no acknowledgement changes" in second.undo


def test_an_unload_is_planned_only_where_it_is_chosen_and_nothing_is_reset() -> None:
    held_up = topic(Subscription("sub", "Shared", (1, 1), (PINNED,)))
    kinds = [action.kind for action in planned(held_up).plan.actions]
    assert kinds == ["unload"]
    assert planned(held_up, codes=frozenset({"C24"})).plan.actions == ()
    assert planned(held_up, subscriptions=("other",)).plan.actions == ()
    inside = replace(stall((1, 2), role="used", action="reset_to_first_chunk", acked_entries=2), first_chunk=(1, 0))
    both = topic(whole(), inside, Subscription("sub", "Shared", (1, 1), (PINNED,)))
    assert [action.kind for action in planned(both).plan.actions] == ["reset_cursor"]


def test_only_holdups_that_an_unload_frees_are_read_from_their_rows() -> None:
    free = {"kind": "pinned_to_dead", "code": "C46", "sureness": "likely", "evidence": "e", "advice": "a"}
    rows = [{**free, "remedy": "unload"}, {**free, "kind": "no_consumers", "code": None, "remedy": "connect"}]
    row = {
        "topic": TOPIC, "subscription": "sub", "subscription_type": "Shared", "mark_delete_ledger_id": 1,
        "mark_delete_entry_id": 0, "holdups": rows,
    }  # fmt: skip
    (facts,) = topic_facts([], [], [], [row, {**row, "topic": "persistent://t/n/two", "holdups": None}], [])
    assert facts.subscriptions == (
        Subscription("sub", "Shared", (1, 0), (Unloadable("pinned_to_dead", "C46", "e", "a"),)),
    )


def test_what_a_dead_letter_left_behind_is_acknowledged_only_when_its_copy_is_whole() -> None:
    row = stall((1, 0), (1, 1), kind="last_only", role="used", acked_entries=1, action="export_then_acknowledge")
    facts = topic(whole(exported=exported()), row, Subscription("sub", "Shared", (1, -1), leaves_dead_letters=True))
    found = planned(facts)
    assert found.plan.actions == ()  # republished, all other subscriptions would get it again
    assert reasons(found) == [words.NO_COPY]
    assert [action.kind for action in planned(facts, republish_to="file").plan.actions] == ["file", "acknowledge"]

    copied = replace(row, copy="persistent://t/n/one-sub-DLQ 9:0")
    (action,) = planned(replace(facts, stalls=(copied,))).plan.actions
    assert (action.kind, action.cause, action.runs) == ("acknowledge", "dead_lettered", (Run(1, 0, 1),))
    assert "dead letter at persistent://t/n/one-sub-DLQ 9:0" in action.evidence[0]
    unexported = topic(whole(), copied)
    assert planned(unexported).plan.actions == ()  # nobody compared the copy with it


def test_a_cursor_inside_a_message_whose_dead_letter_is_verified_is_not_reset() -> None:
    """A reset would deliver it once more, into the dead-letter topic again: what is left of it is acknowledged."""
    inside = stall((1, 2), role="used", action="reset_to_first_chunk", acked_entries=2)
    inside = replace(inside, first_chunk=(1, 0), copy="persistent://t/n/one-sub-DLQ 9:0")
    other = replace(stall((1, 12), uuid="p-1", role="used", action="reset_to_first_chunk"), first_chunk=(1, 10))
    subscription = Subscription("sub", "Shared", (1, 1))
    (action,) = planned(topic(whole(exported=exported()), inside, subscription)).plan.actions
    assert (action.kind, action.cause, action.runs) == ("acknowledge", "dead_lettered", (Run(1, 2, 2),))
    both = planned(topic(whole(exported=exported()), whole("p-1"), inside, other, subscription))
    assert [(one.kind, one.target) for one in both.plan.actions] == [("reset_cursor", (1, 10))]
    unexported = planned(topic(whole(), inside, subscription))
    assert unexported.plan.actions == ()  # neither: what is known of it contradicts itself


def test_settings_come_last_and_only_with_something_to_repair() -> None:
    settings = (("maxPendingChunkedMessage", "20", "12 were open at once"),)
    found = planned(topic(publication(), stall((1, 0)), settings=settings))
    assert [action.kind for action in found.plan.actions] == ["acknowledge", "settings"]
    assert "12 were open" in found.plan.actions[1].evidence[0]
    assert planned(topic(whole(), settings=settings)).plan.actions == ()


def test_selection_by_subscription_code_and_age() -> None:
    facts = topic(
        publication("p-0", 1000), publication("p-1", 2000),
        stall((1, 0)), stall((1, 1), uuid="p-1", time_ms=2000, subscription="two", code="C25"),
    )  # fmt: skip
    assert [a.subscription for a in planned(facts).plan.actions] == ["sub", "two"]
    assert [a.subscription for a in planned(facts, subscriptions=("t*",)).plan.actions] == ["two"]
    assert [a.subscription for a in planned(facts, codes=frozenset({"C24"})).plan.actions] == ["sub"]
    assert [a.subscription for a in planned(facts, until_ms=1999).plan.actions] == ["sub"]
    assert [a.subscription for a in planned(facts, until_ms=2000).plan.actions] == ["sub", "two"]


def test_caps_leave_off_what_does_not_fit_with_what_needs_it() -> None:
    row = stall((1, 2), role="used", acked_entries=1, action="export_then_acknowledge")
    facts = topic(whole(exported=exported()), publication("p-1"), row, stall((1, 5), uuid="p-1", subscription="two"))
    assert [action.size_bytes for action in planned(facts).plan.actions] == [40, 10, 10]
    small = planned(facts, max_bytes=39)  # the message does not fit, so its entries stay too
    assert [action.subscription for action in small.plan.actions] == ["two"]
    assert small.left_off == 2
    assert len(planned(facts, max_count=1).plan.actions) == 1


def test_very_many_chunk_sets_make_several_actions() -> None:
    uuids = [f"p-{number:03}" for number in range(SETS_PER_ACTION + 1)]
    rows = [row for n, uuid in enumerate(uuids) for row in (publication(uuid), stall((1, 2 * n), uuid=uuid))]
    assert [action.entry_count for action in planned(topic(*rows)).plan.actions] == [SETS_PER_ACTION, 1]


def test_keys_and_property_values_stand_in_the_message_only() -> None:
    secret = exported(key="secret-key", ordering_key=b"secret-order", properties={"p": "secret-value"})
    facts = topic(whole(exported=secret, losses=(Loss("java", "breaks_client", "zstd"),)))
    (action,) = planned(facts).plan.actions
    assert action.codes == ("C41",)
    assert "secret" not in json.dumps(asdict(replace(action, message=None)))
