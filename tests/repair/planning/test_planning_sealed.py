"""Plans that publish encrypted messages as they are stored: only when asked to, only what is sound."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.repair.planning.folder import store_plan
from pulsar_backlog.repair.planning.plan import Planned, plan_repair
from pulsar_backlog.repair.planning.rows import missing_names, stored_of
from pulsar_backlog.repair.planning.values import Choices, Named, PublicationFacts, Stored, Subscription, TopicFacts
from pulsar_backlog.repair.values import AsStored, Plan, StoredEntry, read_plan
from pulsar_backlog.subscriptions.stall_values import Loss
from tests.repair.plan_rows import TOPIC, exported, stall, topic, whole

ENTRIES = tuple(StoredEntry((1, number), "ledger-1", 100 * number, 80, 7 + number) for number in range(4))
AS_STORED = AsStored("s3://bucket", ENTRIES)
PART = stall((1, 2), role="used", acked_entries=1, action="export_then_acknowledge")
LOST = (Loss("python", "lost", ""),)


def stored(**other: Any) -> Stored:
    return replace(Stored(AS_STORED, 44, keys=2), **other)


def sealed(**other: Any) -> PublicationFacts:
    """A whole message that is encrypted and was not exported."""
    return whole(**{"encrypted": True, "stored": stored(), **other})


def single(**other: Any) -> Named:
    usual = Named((1, 7), None, True, Stored(AsStored("s3://bucket", (StoredEntry((1, 7), "ledger-1", 0, 9, 1),)), 5))
    return replace(usual, **other)


def planned(*facts: TopicFacts, **choices: Any) -> Planned:
    return plan_repair("c", facts, Choices(**{"as_stored": True, **choices}))


def kinds(found: Planned) -> list[str]:
    return [action.kind for action in found.plan.actions]


def said(found: Planned) -> list[tuple[str, str]]:
    return [(one.why, one.next_step) for one in found.held_back]


def test_it_is_published_unseen_and_its_entries_stay() -> None:
    found = planned(topic(sealed(), PART, Subscription("sub"), Subscription("other")))
    (action,) = found.plan.actions
    assert (action.kind, action.cause, action.topic, action.size_bytes) == ("republish", "got_in_part", TOPIC, 44)
    message = action.message
    assert message is not None
    assert (message.original, message.original_uuid, message.sha256, message.as_stored) == (
        (1, 3),
        "p-0",
        None,
        AS_STORED,
    )
    assert (message.key, message.properties, message.original_topic) == (None, {}, None)
    assert "It is encrypted, and is republished as stored. Nobody has seen its content here." in action.reason
    assert "all of them get it: 'other', 'sub'" in action.affects
    assert "need one of the 2 keys that the original was encrypted for" in action.affects
    assert "apply asks for a key" not in action.affects
    assert "encrypted for 2 keys: 4 entries at 1:0-3, 44 bytes; their checksums agree" in action.evidence
    assert not any("exported" in fact for fact in action.evidence)
    assert found.sources == {}  # no payload is looked for
    ((why, next_step),) = said(found)
    assert "its old entries stay, because no export verified it" in why
    assert "--private-keys" in next_step


@pytest.mark.parametrize("has_schema", [False, True])
def test_a_schema_version_is_left_out_elsewhere_and_the_plan_says_so(has_schema: bool) -> None:
    elsewhere = "persistent://lab/live/repair"
    found = planned(topic(sealed(stored=stored(has_schema=has_schema)), PART), republish_to=elsewhere)
    (action,) = found.plan.actions
    assert action.topic == elsewhere
    assert ("Its schema version has no meaning there" in action.affects) == has_schema


def test_only_when_asked_to() -> None:
    found = planned(topic(sealed(stored=None), PART), as_stored=False)
    assert found.plan.actions == ()
    assert "plan with --as-stored" in said(found)[0][1]
    no_key = exported(verified=False, outcome="no_key", reason="payload_no_key: expected a key, found 0")
    found = planned(topic(sealed(stored=None, exported=no_key), PART), as_stored=False)
    assert "plan with --as-stored" in said(found)[0][1]
    clear = planned(topic(whole(), PART))
    assert clear.plan.actions == ()
    assert "--as-stored" not in said(clear)[0][1]


def test_what_the_export_could_not_open_goes_unseen_and_what_it_saw_broken_does_not() -> None:
    no_key = exported(verified=False, outcome="no_key", reason="payload_no_key: no key")
    assert kinds(planned(topic(sealed(exported=no_key), PART))) == ["republish"]
    for outcome in ("undecryptable", "undecodable", "wrong_size", "corrupt", "unreadable", "exported"):
        seen = exported(verified=False, outcome=outcome, reason="it is broken")
        found = planned(topic(sealed(exported=seen, losses=LOST), PART))
        assert found.plan.actions == ()
        assert all("it is broken" in why for why, _ in said(found))


def test_what_an_export_verified_goes_with_all_its_keys_and_its_entries_may_go() -> None:
    found = planned(topic(sealed(exported=exported((1, 3), was_encrypted=True)), PART))
    assert kinds(found) == ["republish", "acknowledge"]
    publish, acknowledge = found.plan.actions
    assert acknowledge.requires == (0,)
    assert publish.message is not None
    assert publish.message.as_stored == AS_STORED
    assert "Nobody has seen" not in publish.reason
    assert any("exported and verified: 40 bytes" in fact for fact in publish.evidence)
    assert found.sources == {}


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ({"stored": None}, "not every entry of it is stored whole"),
        ({"stored": stored(fault="its chunks contradict each other")}, "contradict"),
        ({"stored": stored(transaction="open")}, "a transaction that is open"),
        ({"stored": stored(transaction="aborted")}, "a transaction that is aborted"),
        ({"stored": stored(transaction="cannot_tell")}, "does not tell whether that was committed"),
        ({"stored": stored(republished="unclear")}, "apply that plan again"),
        ({"state": "in_flight"}, "may still be arriving"),
    ],
)
def test_what_is_not_published(odd: dict[str, Any], words: str) -> None:
    for facts in (topic(sealed(**odd), PART), topic(sealed(**odd, losses=LOST))):
        found = planned(facts)
        assert found.plan.actions == ()
        assert words in said(found)[0][0]


def test_once_for_all_and_not_again() -> None:
    found = planned(topic(sealed(losses=LOST), PART, replace(PART, subscription="two")))
    assert kinds(found) == ["republish"]
    done = planned(topic(sealed(stored=stored(republished="done"), losses=LOST), PART))
    assert done.plan.actions == ()


def test_a_subscription_that_has_it_gets_no_copy() -> None:
    surplus = stall((1, 7), role="duplicate", acked_entries=4, action="export_then_acknowledge")
    assert planned(topic(sealed(), surplus)).plan.actions == ()


def test_elsewhere_and_to_a_file() -> None:
    (action,) = planned(topic(sealed(losses=LOST)), republish_to="persistent://t/n/repair").plan.actions
    assert action.message is not None
    assert (action.topic, action.message.original_topic) == ("persistent://t/n/repair", TOPIC)
    assert "one of the 2 keys" in action.affects
    assert planned(topic(sealed(losses=LOST)), republish_to="file").plan.actions == ()  # there is nothing to keep


def test_named_messages() -> None:
    chunk = Named((1, 1), ("p-0", 1000), True)
    facts = topic(sealed(), Subscription("sub"), named=(single(), chunk))
    first, second = planned(facts).plan.actions
    assert (first.cause, second.cause) == ("named", "named")
    assert first.message is not None
    assert second.message is not None
    assert (first.message.original, second.message.original) == ((1, 3), (1, 7))
    assert second.message.original_uuid is None
    assert "at 1:7 was named. It is encrypted" in second.reason
    batch = single(stored=replace(single().stored or stored(), batch_size=3))
    (action,) = planned(topic(named=(batch,))).plan.actions
    assert "The batch of 3 messages at 1:7 was named." in action.reason
    assert "It is a batch: 3 messages are republished." in action.affects
    assert "consumers do not see it" in action.undo


@pytest.mark.parametrize(
    ("facts", "as_stored", "words"),
    [
        (topic(named=(single(encrypted=False, stored=None),)), True, "the named message 1:7: it is one entry that"),
        (topic(named=(single(stored=None),)), False, "republished only as stored"),
        (topic(named=(Named((1, 1), ("p-0", 1000), True),)), True, "too many messages share its uuid"),
        (topic(whole(), named=(Named((1, 1), ("p-0", 1000), False),)), True, "can be rebuilt, and is not exported"),
        (topic(sealed(stored=stored(republished="done")), named=(Named((1, 1), ("p-0", 1000), True),)), True,
         "it was republished already"),
        (topic(named=(single(stored=stored(republished="done")),)), True, "it was republished already"),
        (topic(named=(single(stored=stored(fault="no checksum")),)), True, "no checksum"),
    ],
)  # fmt: skip
def test_a_name_that_leads_to_nothing_is_answered(facts: TopicFacts, as_stored: bool, words: str) -> None:
    found = planned(facts, as_stored=as_stored)
    assert found.plan.actions == ()
    assert words in said(found)[0][0]


def test_a_named_message_that_was_exported_is_published_opened() -> None:
    (action,) = planned(topic(whole(exported=exported()), named=(Named((1, 9), ("p-0", 1000), False),))).plan.actions
    assert action.message is not None
    assert (action.cause, action.message.as_stored, action.message.sha256) == ("named", None, "ab" * 32)


ROW = {
    "parts": [{"ledger_id": 1, "entry_id": 3, "uri": "u", "offset": 5, "length": 6, "checksum": 7, "inner_offset": None,
               "block_length": None}],
    "bytes": 4,
    "keys": 1, "batch_size": None, "has_schema": False, "transaction": None, "republished": "no", "sound": True,
    "encrypted": True, "known": True, "agreed": True, "first": True,
}  # fmt: skip


def test_a_row_becomes_what_a_plan_says() -> None:
    found = stored_of(ROW, "s3://b")
    assert found.as_stored == AsStored("s3://b", (StoredEntry((1, 3), "u", 5, 6, 7),))
    assert (found.position, found.fault) == ((1, 3), "")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sound", "checksum"),
        ("encrypted", "not all of its chunks"),
        ("known", "does not know"),
        ("agreed", "contradict"),
        ("first", "make a loop"),
    ],
)
def test_each_doubt_has_its_words(name: str, words: str) -> None:
    assert words in stored_of({**ROW, name: False}, "s").fault


def test_names_at_which_nothing_lies() -> None:
    rows = [{"ledger_id": 1, "entry_id": n, "topic": TOPIC if n else None} for n in range(2)]
    assert missing_names(rows) == ["1:0"]


def test_the_plan_comes_back_and_holds_nothing_of_the_topic(tmp_path: Path) -> None:
    found = planned(topic(sealed(), PART, named=(single(),)))
    store_plan(tmp_path / "plan", found, {})
    again = read_plan(tmp_path / "plan")
    assert again == found.plan
    assert list((tmp_path / "plan" / "payloads").iterdir()) == []
    assert Plan("c", again.actions).plan_id == found.plan.plan_id
    moved = replace(AS_STORED, entries=(replace(ENTRIES[0], crc32c=8), *ENTRIES[1:]))
    other = planned(topic(sealed(stored=stored(as_stored=moved)), PART, named=(single(),)))
    assert other.plan.plan_id != found.plan.plan_id
    assert json.dumps(asdict(found.plan)) == json.dumps(asdict(planned(topic(sealed(), PART, named=(single(),))).plan))
