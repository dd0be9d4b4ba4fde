"""Schemas in a snapshot: all versions, once for all partitions, and an audit takes the folder as before."""

from __future__ import annotations

import json
from pathlib import Path

from pulsar_backlog.cluster.access import Access
from pulsar_backlog.cluster.admin_http import AdminHttp
from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.admin_rest import AdminRest
from pulsar_backlog.cluster.snapshot import named_files, save_topics
from pulsar_backlog.cluster.snapshot_index import Entry, open_index
from pulsar_backlog.schemas.saved import saved_versions
from pulsar_backlog.schemas.values import SchemaInfo
from tests.cluster.admin_server import AdminServer, Answer, admin_server

AVRO = [{"version": number, "type": "AVRO", "data": '"int"', "properties": {}} for number in (0, 1)]


def saved(server: AdminServer, folder: Path, *topics: str) -> dict[str, Entry]:
    server.holds(*topics)
    rest = AdminRest(AdminHttp(server.url, Access(attempts=1)))
    names = [f"persistent://lab/s/{topic}" for topic in topics]
    index = open_index(folder, server.url, ("*",), 0)
    entries = list(save_topics(rest, folder, index, named_files(names), 2, lambda: 0))
    index.finish(1)
    return {one.topic.removeprefix("persistent://lab/s/"): one for one in entries}


def test_all_versions_are_saved_once(tmp_path: Path) -> None:
    with admin_server() as server:
        for topic in ("orders", "parts"):
            server.says(f"/admin/v2/schemas/lab/s/{topic}/schemas", {"getSchemaResponses": AVRO})
        server.says("/admin/v2/schemas/lab/s/empty/schemas", {"getSchemaResponses": []})
        entries = saved(server, tmp_path, "orders", "parts-partition-0", "parts-partition-1", "none", "empty")
        assert {one.status for one in entries.values()} == {"saved"}
        assert server.times("/admin/v2/schemas/lab/s/parts/schemas") == 1
    files = {path.name for path in tmp_path.glob("*.schemas.json")}
    assert files == {"lab__s__orders.schemas.json", "lab__s__parts-partition-0.schemas.json"}
    both = {number: SchemaInfo("AVRO", b'"int"') for number in (0, 1)}
    for topic in ("orders", "parts", "parts-partition-1"):
        assert saved_versions(str(tmp_path), f"persistent://lab/s/{topic}") == both
    assert saved_versions(str(tmp_path), "persistent://lab/s/none") == {}
    assert read_cluster_state(tmp_path, {}).findings == ()


def test_a_service_that_does_not_answer_leaves_the_topic_for_the_next_time(tmp_path: Path) -> None:
    with admin_server() as server:
        server.answers["/admin/v2/schemas/lab/s/orders/schemas"] = Answer(503)
        server.answers["/admin/v2/schemas/lab/s/secret/schemas"] = Answer(403)
        entries = saved(server, tmp_path, "orders", "secret")
    assert {name: one.status for name, one in entries.items()} == {"orders": "failed", "secret": "saved"}
    assert json.loads((tmp_path / "lab__s__secret.policies.json").read_text())["topic"] == "persistent://lab/s/secret"
