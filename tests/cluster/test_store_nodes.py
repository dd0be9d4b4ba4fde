"""Nodes of ledgers and schemas in a dump of the metadata store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.store_nodes import StoreNodes, ledger_of_path, together
from tests.auditing import DATA


def test_a_real_store() -> None:
    nodes = read_cluster_state(DATA / "internals" / "admin-4.2.4", {}).nodes
    assert len(nodes.ledgers) == 39 and len(nodes.schemas) == 5
    schema = nodes.metadata(4)
    assert schema is not None
    assert (schema.state, schema.last_entry_id) == ("CLOSED", 0)
    assert dict(schema.custom)["component"] == b"schema"
    assert nodes.metadata(8) is None  # deleted
    assert nodes.namespaces == {"lab/s3", "lab/sub", "pulsar/system"}


@pytest.mark.parametrize(
    ("path", "ledger_id"),
    [
        ("/ledgers/00/0000/L0001", 1),
        ("/ledgers/12/3456/L7890", 1234567890),
        ("/ledgers/000/0000/0012/3456/L7890", 1234567890),
        ("/ledgers/L0000000007", 7),
        ("/ledgers/00/0000", None),
        ("/ledgers/LAYOUT", None),
        ("/ledgers/idgen/ID-0000000001", None),
        ("/ledgers/available/127.0.0.1:3181", None),
        ("/ledgers/999/9999/9999/9999/L9999", None),  # more than 63 bits
    ],
)
def test_paths(path: str, ledger_id: int | None) -> None:
    assert ledger_of_path(path) == ledger_id


def test_damaged_values(tmp_path: Path) -> None:
    nodes = {"/ledgers/00/0000/L0001": "AAAA", "/ledgers/00/0000/L0002": "no base64!", "/schemas/t/n/x": ""}
    (tmp_path / "dump.json").write_text(json.dumps(nodes))
    state = read_cluster_state(tmp_path, {})
    assert set(state.nodes.ledgers) == {1} and not state.nodes.schemas
    assert state.nodes.metadata(1) is None
    assert [one.code for one in state.findings] == ["S19"]


def test_several_dumps() -> None:
    first = StoreNodes({1: b"a", 2: b"b"}, {"s": b"1"}, frozenset({"t/n"}), {1: 5}, 7)
    second = StoreNodes({2: b"c"}, {}, frozenset({"t/m"}), {2: 6}, 6)
    both = together([first, second])
    assert both == StoreNodes({1: b"a", 2: b"c"}, {"s": b"1"}, frozenset({"t/n", "t/m"}), {1: 5, 2: 6}, 7)
