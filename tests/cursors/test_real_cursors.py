"""The broker's own word, position by position: every form in which the same state exists says the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.subscriptions.sightings import CursorViews, cursor_views
from tests.cursors.real_ledgers import DATA

BROKERS = ("broker-4.0.8", "broker-4.2.4")
UNBATCHED = "persistent://lab/sub/subs-unbatched"
BATCHED = "persistent://lab/sub/subs-batched"
CHUNKED = "persistent://lab/sub/subs-chunked"


def views_of(folder: Path) -> CursorViews:
    return cursor_views(read_cluster_state(folder, {}), {})


def broker_says(folder: Path, pattern: str) -> dict[str, set[tuple[int, int]]]:
    """Acknowledged positions by encoded cursor name, worked out from internalStats without any of our readers."""
    (path,) = folder.glob(pattern)
    body = json.loads(path.read_text())
    lengths = {one["ledgerId"]: one["entries"] for one in body["ledgers"]}
    open_ledger, last = map(int, body["lastConfirmedEntry"].split(":"))
    lengths[open_ledger] = last + 1
    every = {(ledger, entry) for ledger, count in lengths.items() for entry in range(count)}
    said = {}
    for name, cursor in body["cursors"].items():
        mark = tuple(map(int, cursor["markDeletePosition"].split(":")))
        numbers = [
            tuple(map(int, m))
            for m in re.findall(r"\((\d+):(-?\d+)\.\.(\d+):(\d+)\]", cursor["individuallyDeletedMessages"])
        ]
        said[name] = {p for p in every if p <= mark or any((a, b) < p <= (c, d) for a, b, c, d in numbers)}
    return said


@pytest.mark.parametrize("broker", BROKERS)
@pytest.mark.parametrize("source", ["cursor_ledger", "stats_internal"])
def test_every_form_acknowledges_exactly_what_the_broker_does(broker: str, source: str) -> None:
    said = broker_says(DATA / broker, "*subs-unbatched*internalStats.json")
    views = views_of(DATA / broker)
    compared = 0
    for name, encoded in (("excl", "excl"), ("shared-holes",) * 2, ("keyshared/ü", "keyshared%2F%C3%BC")):
        for sighting in views.cursors[UNBATCHED, name].sightings:
            if sighting.source == source:
                every = {(ledger, entry) for ledger in views.lengths[UNBATCHED] for entry in range(60)}
                stored = {p for p in every if p[1] < (views.lengths[UNBATCHED][p[0]] or 0)}
                assert {p for p in stored if p in sighting.acked} == said[encoded]
                compared += 1
    assert compared == 3


@pytest.mark.parametrize("broker", BROKERS)
def test_ranges_and_long_lists_of_two_brokers_are_told_apart(broker: str) -> None:
    stored = [
        s.state.encoding
        for v in views_of(DATA / broker).cursors.values()
        for s in v.sightings
        if s.recovered and s.state
    ]
    assert set(stored) == {"none", "ranges" if broker == "broker-4.0.8" else "long_array"}


@pytest.mark.parametrize("broker", BROKERS)
def test_the_newest_state_is_chosen_and_the_old_snapshot_is_not(broker: str) -> None:
    found = views_of(DATA / broker).cursors[UNBATCHED, "shared-holes"].newest()
    assert found.chosen.source == "stats_internal"
    assert found.stored is not None
    assert found.stored.source == "cursor_ledger"
    assert found.stored.acked == found.chosen.acked
    # The node still shows the beginning: what forced recovery would go back to.
    assert found.rollback is not None
    assert found.rollback[1] == -1
    assert found.sureness == "certain"


@pytest.mark.parametrize("broker", BROKERS)
def test_batch_indexes_are_read_with_the_right_sense(broker: str) -> None:
    views = views_of(DATA / broker).cursors
    (bidx,) = [s for s in views[BATCHED, "bidx"].sightings if s.source == "cursor_ledger"]
    (ledger,) = {ledger for ledger, _ in bidx.acked.partly}
    # Every other message of batches of 10 was acknowledged, and of the first batches more: a set bit is what is left.
    assert bidx.acked.partly[ledger, 2] == (0b1010101010,)
    assert bidx.acked.partly[ledger, 1] == (0b1010100000,)
    assert sorted(entry for _, entry in bidx.acked.partly) == [1, 2, 3, 4, 6, 7, 8, 9]
    assert (ledger, 5) in bidx.acked
    (nobidx,) = [s for s in views[BATCHED, "nobidx"].sightings if s.source == "cursor_ledger"]
    assert nobidx.acked.partly == {}


def test_after_an_unload_the_node_holds_the_same_state_as_the_ledger_did(tmp_path: Path) -> None:
    open_views = views_of(DATA / "broker-4.0.8").cursors
    (tmp_path / "nodes.json").write_bytes((DATA / "after-unload-4.0.8.json").read_bytes())
    closed = views_of(tmp_path).cursors
    assert set(closed) == set(open_views)
    for key, view in closed.items():
        (node,) = view.sightings
        assert node.whole
        for ledger in (s for s in open_views[key].sightings if s.source == "cursor_ledger"):
            assert (node.acked.mark_delete, node.acked.ledgers) == (ledger.acked.mark_delete, ledger.acked.ledgers), key
    # A real loss: 4.0 recovered the subscription from its node once, and brokers do not read batch indexes from there.
    assert closed[BATCHED, "bidx"].sightings[0].acked.partly == {}


def test_an_exported_tree_is_read_as_the_dump_is(tmp_path: Path) -> None:
    import base64

    dump = json.loads((DATA / "after-unload-4.0.8.json").read_text())
    for path, node in dump.items():
        has_children = any(other.startswith(path + "/") for other in dump)
        file = tmp_path / path.lstrip("/") / ".data" if has_children else tmp_path / path.lstrip("/")
        if has_children:  # hidden files are passed over, so an export that wants to be read calls it `value`
            file = file.with_name("value")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(node["b64"]))
    (tmp_path / "other").mkdir()
    tree = views_of(tmp_path)
    (tmp_path / "other" / "dump.json").write_text(json.dumps(dump))
    both = views_of(tmp_path)
    assert tree.findings == both.findings == ()
    for key, view in both.cursors.items():
        first, second = view.sightings
        assert first.acked == second.acked
        assert tree.cursors[key].sightings[0].acked == first.acked
    assert tree.lengths == both.lengths


def test_real_state_has_nothing_wrong_with_it() -> None:
    for broker in BROKERS:
        views = views_of(DATA / broker)
        assert views.findings == ()
        assert {f.code for v in views.cursors.values() for f in v.findings} == set()
