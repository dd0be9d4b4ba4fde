"""No combination of rows may ever put an entry on an acknowledge list whose message could still be had."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.messages.kinds import TRANSACTIONS, UNDECIDED
from pulsar_backlog.repair.planning.plan import plan_repair
from pulsar_backlog.repair.planning.values import Choices, Entry, Exported, PublicationFacts, StallFacts, TopicFacts
from pulsar_backlog.subscriptions.stall_values import Loss
from tests.examples import examples

TOPIC = "persistent://t/n/one"
STATES = ("whole", "out_of_order", "orphan_prefix", "headless", "gap", "in_flight", "malformed")
ROLES = ("used", "duplicate", "residue", "orphan", "conflicting")
KINDS = ("shared_stall", "head_acked", "copies_only", "orphan_hole", "whole_hole", "split", "pending")
ACTIONS = ("wait", "export_then_acknowledge", "acknowledge", "skip", "reset_to_first_chunk", "none")
UUIDS = ("a-0", "b-0")
TIMES = (1, 2)
SURE = ("certain", "likely", "cannot_tell")
SURENESS_RANK = {name: number for number, name in enumerate(SURE)}

exports = st.none() | st.builds(
    Exported,
    position=st.tuples(st.integers(1, 2), st.integers(0, 9)),
    verified=st.booleans(),
    transaction=st.sampled_from([None, *TRANSACTIONS[1:]]),
    payload_sha256=st.none() | st.just("00" * 32),
    payload_bytes=st.none() | st.just(10),
    key_is_bytes=st.booleans(),
    was_encrypted=st.booleans(),
    properties=st.sampled_from([{}, {"pulsar-backlog.plan": "x"}]),
    republished=st.sampled_from(["no", "unclear", "done"]),
)
publications = st.builds(
    PublicationFacts,
    chunk_uuid=st.sampled_from(UUIDS),
    publish_time_ms=st.sampled_from(TIMES),
    state=st.sampled_from(STATES),
    rebuildable=st.booleans(),
    sureness=st.sampled_from(SURE),
    reason=st.just("because"),
    num_chunks=st.just(3),
    present_chunks=st.integers(1, 3),
    stored_bytes=st.just(30),
    encrypted=st.just(False),
    exported=exports,
    losses=st.sampled_from([(), (Loss("python", "lost", ""),)]),
)
owners = st.none() | st.tuples(st.sampled_from(UUIDS), st.sampled_from(TIMES))
entries = st.builds(
    Entry,
    position=st.tuples(st.integers(1, 2), st.integers(0, 9)),
    owner=owners,
    role=st.none() | st.sampled_from(ROLES),
    is_sound=st.booleans(),
    holds_more=st.booleans(),
)


@st.composite
def stalls(draw: st.DrawFn) -> StallFacts:
    """A row whose positions mostly, and not always, belong to its publication."""
    key = draw(st.tuples(st.sampled_from(UUIDS), st.sampled_from(TIMES)))
    drawn = draw(st.lists(entries, min_size=1, max_size=4, unique_by=lambda entry: entry.position))
    own = tuple(replace(e, owner=key) if draw(st.booleans()) else e for e in drawn)
    return StallFacts(
        subscription=draw(st.sampled_from(["s", "t"])),
        chunk_uuid=key[0],
        publish_time_ms=key[1],
        code="C24",
        kind=draw(st.sampled_from(KINDS)),
        also=(),
        entries=own,
        unacked_entries=len(own),
        unacked_bytes=10,
        acked_entries=draw(st.integers(0, 2)),
        action=draw(st.sampled_from(ACTIONS)),
        first_chunk=draw(st.none() | st.just((1, 0))),
        sureness=draw(st.sampled_from(SURE)),
        reason="because",
        advice="do it",
        can_complete=draw(st.booleans()),
    )


facts = st.builds(
    TopicFacts,
    topic=st.just(TOPIC),
    publications=st.lists(publications, max_size=4, unique_by=lambda one: one.key).map(tuple),
    stalls=st.lists(stalls(), max_size=4, unique_by=lambda one: (one.subscription, one.key)).map(tuple),
)
choices = st.builds(
    Choices,
    republish_to=st.sampled_from(["same", "file", "persistent://t/n/repair"]),
    accept_unsure=st.sampled_from([None, "likely", "cannot_tell"]),
    max_count=st.none() | st.integers(1, 3),
    max_bytes=st.none() | st.integers(0, 30),
)


def may_be_lost(position: tuple[int, int], subscription: str, topic: TopicFacts, asked: Choices) -> str | None:
    """The rule in its own words: why this entry must not be acknowledged on this subscription; None when it may."""
    rows = [
        (stall, entry)
        for stall in topic.stalls
        if stall.subscription == subscription
        for entry in stall.entries
        if entry.position == position and not entry.holds_more and entry.is_sound and entry.owner == stall.key
    ]
    if not rows:
        return "no stall of this subscription says that this sound entry is a chunk and nothing else"
    for stall, _ in rows:
        family = [one for one in topic.publications if one.chunk_uuid == stall.chunk_uuid]
        if not any(one.key == stall.key for one in family):
            continue
        if all(_gone_or_kept(one, asked) for one in family):
            return None
    return "a message with its uuid could still be had"


def _gone_or_kept(one: PublicationFacts, asked: Choices) -> bool:
    if one.state == "in_flight":
        return False
    if one.exported and one.exported.verified and one.exported.transaction not in UNDECIDED:
        return True
    if one.rebuildable or one.state not in ("orphan_prefix", "headless", "gap"):
        return False
    return SURENESS_RANK[one.sureness] <= SURENESS_RANK[asked.accept_unsure or "certain"]


@examples(400)
@given(facts, choices)
def test_nothing_that_could_still_be_had_is_acknowledged(topic: TopicFacts, asked: Choices) -> None:
    plan = plan_repair("c", [topic], asked).plan
    for action in plan.actions:
        if action.kind != "acknowledge":
            continue
        for run in action.runs:
            for entry_id in range(run.first_entry_id, run.last_entry_id + 1):
                why = may_be_lost((run.ledger_id, entry_id), action.subscription or "", topic, asked)
                assert why is None, (why, run, action)


@examples(150)
@given(facts, choices)
def test_what_is_acknowledged_without_the_users_risk_is_certain(topic: TopicFacts, asked: Choices) -> None:
    plan = plan_repair("c", [topic], replace(asked, accept_unsure=None)).plan
    assert all(action.sureness == "certain" for action in plan.actions)


@examples(150)
@given(facts, choices)
def test_an_original_is_acknowledged_only_after_its_message_is_published(topic: TopicFacts, asked: Choices) -> None:
    """Where a subscription does not have the message, its entries go only after the action that brings it again."""
    plan = plan_repair("c", [topic], asked).plan
    published = {
        (action.message.original_uuid, action.message.original): action.number
        for action in plan.actions
        if action.message is not None
    }
    by_key = {one.key: one for one in topic.publications}
    for action in plan.actions:
        assert all(number < action.number for number in action.requires)
        if action.cause != "exported":
            continue
        positions = {(r.ledger_id, e) for r in action.runs for e in range(r.first_entry_id, r.last_entry_id + 1)}
        for stall in topic.stalls:
            own = by_key.get(stall.key)
            mine = {e.position for e in stall.entries if e.owner == stall.key}
            if stall.subscription != action.subscription or own is None or own.exported is None:
                continue
            has_it = stall.acked_entries and all(e.role not in ("used", None) for e in stall.entries)
            if mine and mine <= positions and not has_it and stall.action != "none" and own.state != "in_flight":
                number = published.get((own.chunk_uuid, own.exported.position))
                if number is not None and not (stall.can_complete and stall.action == "wait"):
                    assert number in action.requires


@examples(80)
@given(st.lists(facts, max_size=3), choices, st.randoms())
def test_the_same_facts_make_the_same_plan(topics: list[TopicFacts], asked: Choices, random: object) -> None:
    named = [replace(one, topic=f"{TOPIC}{number}") for number, one in enumerate(topics)]
    other = [
        replace(one, publications=tuple(reversed(one.publications)), stalls=tuple(reversed(one.stalls)))
        for one in reversed(named)
    ]
    assert plan_repair("c", named, asked).plan.plan_id == plan_repair("c", other, asked).plan.plan_id


@examples(80)
@given(facts, choices)
def test_nothing_hidden_or_repaired_is_published(topic: TopicFacts, asked: Choices) -> None:
    planned = plan_repair("c", [topic], asked)
    by_key = {one.key: one for one in topic.publications}
    for number, (_, key) in planned.sources.items():
        exported = by_key[key].exported
        assert exported is not None and exported.verified
        assert exported.transaction in (None, "committed")
        assert "pulsar-backlog.plan" not in exported.properties
        assert exported.republished == "no"
        if planned.plan.actions[number].kind == "republish":
            message = planned.plan.actions[number].message
            assert message is not None
            assert message.was_encrypted == exported.was_encrypted  # apply encrypts it again, or refuses
            assert message.key_is_base64 == exported.key_is_bytes
