"""Saved state cut by topic and put together again: nothing is lost, whatever the folder held."""

from __future__ import annotations

from pathlib import Path

import pytest

from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.retention import Retention, SavedRetention
from pulsar_backlog.cluster.saved_settings import SavedSettings
from pulsar_backlog.cluster.stored_values import SavedCursorLedger
from pulsar_backlog.cluster.topic_states import SavedTopic, by_topic, together
from pulsar_backlog.cluster.transactions import Transactions
from pulsar_backlog.cluster.values import ClusterState, LedgerRecord, TopicState
from tests.auditing import DATA

FOLDERS = [
    path for path in (DATA / "backlog" / "admin", DATA / "cursors" / "broker-4.2.4", DATA / "admin" / "saved",
    DATA / "mapfiles" / "admin", DATA / "pulsar5") if path.is_dir()
]  # fmt: skip
A, B = "persistent://t/n/a", "persistent://t/n/b"


def topic(name: str, *ledgers: int) -> TopicState:
    return TopicState(name, tuple(LedgerRecord(id_, name) for id_ in ledgers))


def state(*topics: TopicState, **given: object) -> ClusterState:
    return ClusterState({one.topic: one for one in topics}, frozenset(), (), **given)  # type: ignore[arg-type]


def stored(of: ClusterState) -> list[SavedTopic]:
    return [SavedTopic.from_json(one.to_json()) for one in by_topic(of)]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(DATA)))
def test_real_folders(folder: Path) -> None:
    saved = read_cluster_state(folder, {})
    again = together(None, stored(saved), {})
    assert saved.topics
    assert again.topics == saved.topics
    assert again.layouts == saved.layouts
    assert again.registered == saved.registered
    assert again.transactions == saved.transactions
    assert again.settings == saved.settings
    assert again.disputed == saved.disputed
    assert sorted(map(repr, again.stored_values)) == sorted(map(repr, saved.stored_values))
    assert sorted(map(repr, again.cursor_ledgers)) == sorted(map(repr, saved.cursor_ledgers))
    assert {name: again.retention.of(name) for name in saved.topics} == {
        name: saved.retention.of(name) for name in saved.topics
    }


def test_what_a_folder_lacks_is_as_it_was() -> None:
    before = state(topic(A, 1), topic(B, 2), retention=SavedRetention({A: Retention(1, 1), B: Retention(2, 2)}))
    before.retention.ttl_seconds |= {A: 1, B: 2}
    now = state(topic(A, 1, 3), retention=SavedRetention({A: Retention(9, 9)}, ttl_seconds={A: 9}))
    found = together(now, [one for one in stored(before) if one.topic != A], {})
    assert found.topics == {A: topic(A, 1, 3), B: topic(B, 2)}
    assert found.retention.of(A) == Retention(9, 9)
    assert found.retention.of(B) == Retention(2, 2)
    assert (found.retention.ttl_of(A), found.retention.ttl_of(B)) == (9, 2)


def test_topics_that_claim_one_ledger_are_told_of_once() -> None:
    now = together(state(topic(A, 1)), stored(state(topic(B, 1))), {})
    assert now.disputed == {1}
    assert [one.code for one in now.findings] == ["S20"]
    assert [one.code for one in together(now, (), {}).findings] == ["S20"]


def test_transactions_stay() -> None:
    said = Transactions({(1, 2): "open"}, {("segment://s", (1, 2)): "aborted"}, {"segment://s": (7, 3)})
    assert together(state(topic(A)), stored(state(transactions=said)), {}).transactions == said
    assert together(state(transactions=said), (), {}).transactions == said


def test_what_is_said_of_the_cluster_stays_until_more_is_said() -> None:
    old, new = SavedSettings((4, 0), {"maxMessageSize": "5"}), SavedSettings((4, 2))
    earlier = stored(state(settings=old, transactions=Transactions({(1, 2): "open"})))
    assert together(state(topic(A)), earlier, {}).settings == old
    found = together(state(topic(A), settings=new), earlier, {})
    assert (found.settings, found.transactions) == (new, Transactions({(1, 2): "open"}))


def test_cursor_ledgers_are_there_once() -> None:
    ledger = SavedCursorLedger(7, "x.json", {0: b"\xff"})
    of = state(cursor_ledgers=(ledger,))
    assert together(of, stored(of), {}).cursor_ledgers == (ledger,)
    assert together(state(topic(A)), stored(of), {}).cursor_ledgers == (ledger,)


def test_text_of_others_is_refused() -> None:
    with pytest.raises(ValueError, match="topic"):
        SavedTopic.from_json("{}")
