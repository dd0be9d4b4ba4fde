"""Lists of ledgers in a metadata store of 5.0.0-M1: as the broker's own internal-info, and segments besides."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.values import ClusterState
from tests.auditing import DATA

PULSAR5 = DATA / "pulsar5" / "admin"


@pytest.fixture(scope="module")
def of_store(tmp_path_factory: pytest.TempPathFactory) -> ClusterState:
    """What is known where only the metadata store was saved."""
    folder = tmp_path_factory.mktemp("store")
    shutil.copy(PULSAR5 / "metadata-store.json", folder)
    return read_cluster_state(folder, {})


@pytest.mark.parametrize("name", ["orders", "payments", "legacy-partition-0"])
def test_same_as_internal_info(name: str, of_store: ClusterState, tmp_path: Path) -> None:
    shutil.copy(PULSAR5 / f"acme__shop__{name}.internal-info.json", tmp_path)
    topic = f"persistent://acme/shop/{name}"
    expected = read_cluster_state(tmp_path, {topic_ledger(tmp_path): topic}).topics[topic]
    found = of_store.topics[topic]
    assert [(one.ledger_id, one.uuid) for one in found.ledgers] == sorted(
        (one.ledger_id, one.uuid)
        for one in expected.ledgers  # as M1 answers, an open one may stand before a closed one
    )
    # Without the list that says so, the last ledger of a terminated topic has no count: it is the end that tells.
    last = found.terminated_at[0] if found.terminated_at else None
    assert {one.ledger_id: one.entries for one in found.ledgers if one.ledger_id != last} == {
        one.ledger_id: one.entries for one in expected.ledgers if one.ledger_id != last
    }
    assert (found.terminated, found.terminated_at) == (expected.terminated, expected.terminated_at)


def topic_ledger(folder: Path) -> int:
    """A ledger that the only document of a folder lists."""
    (file,) = folder.iterdir()
    ledger_id: int = json.loads(file.read_text())["ledgers"][0]["ledgerId"]
    return ledger_id


def test_segments(of_store: ClusterState) -> None:
    sealed = of_store.topics["segment://acme/shop/clicks/0000-7fff-0"]
    assert (sealed.terminated, sealed.terminated_at) == (True, (22, 11))
    assert [(one.ledger_id, one.entries) for one in sealed.ledgers] == [(22, 12)]
    active = of_store.topics["segment://acme/shop/clicks/4000-9fff-5"]
    assert (active.terminated, active.terminated_at) == (False, None)
    assert [(one.ledger_id, one.entries) for one in active.ledgers] == [(31, 15), (33, None)]
    assert active.ledgers[0].complete is True


def test_cursors_of_segments(of_store: ClusterState) -> None:
    cursors = {(value.topic, value.cursor) for value in of_store.stored_values if value.cursor}
    assert ("segment://acme/shop/clicks/0000-7fff-0", "workers") in cursors
    assert ("segment://acme/files/eu%2Fboard%20one/0000-ffff-0", "files") in cursors
