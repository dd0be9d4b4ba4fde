"""Whose ledgers are that no list names: BookKeeper's metadata in a dump of a real 5.0.0-M1 tells it of segments."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.values import topics_besides
from tests.auditing import DATA

SEGMENT = "segment://acme/shop/clicks/0000-7fff-0"


def test_ledgers_of_segments_are_named(tmp_path: Path) -> None:
    shutil.copy(DATA / "pulsar5" / "ledger-nodes.json", tmp_path)
    state = read_cluster_state(tmp_path, {})
    assert topics_besides(state) == {22: SEGMENT}
    assert state.nodes.topic(5) == "persistent://acme/shop/orders"


@pytest.mark.parametrize("value", ["", "AAAA", "Qm9va2llTWV0YWRhdGFGb3JtYXRWZXJzaW9uCTMK"])
def test_metadata_that_is_none_names_nothing(tmp_path: Path, value: str) -> None:
    (tmp_path / "dump.json").write_text(json.dumps({"/ledgers/00/0000/L0022": {"b64": value}}))
    assert topics_besides(read_cluster_state(tmp_path, {})) == {}
