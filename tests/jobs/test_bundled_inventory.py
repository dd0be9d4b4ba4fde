"""The inventory of the bundled backlog against its admin JSON, read here by other means; integrity of its audit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.sql.duck import opened
from pulsar_backlog.steps.source_inventory import take_inventory
from tests.auditing import ADMIN, OBJECTS, Audited

NEEDS_SPARK = True


def ledgers_of(kind: str) -> Iterator[dict[str, Any]]:
    for path in sorted(ADMIN.rglob(f"*{kind}.json")):
        body = json.loads(path.read_text())
        for document in body["partitions"].values() if "partitions" in body else [body]:
            yield from document["ledgers"]


def test_each_ledger_that_metadata_or_source_know_has_its_verdict() -> None:
    source = open_source(str(OBJECTS))
    _, _, held, _ = take_inventory(source, take_listing(source), [], partial(read_cluster_state, ADMIN))
    rows = [row.row("demo") for row in held]
    offloaded = {one["ledgerId"] for one in ledgers_of("internalStats") if one["offloaded"]}
    uuids = {one["ledgerId"]: one.get("offloadedContextUuid") for one in ledgers_of("internal-info")}
    stored = {path.name.removesuffix("-index") for path in OBJECTS.rglob("*-ledger-*")}
    current = {f"{row['copy']}-ledger-{row['ledger_id']}" for row in rows if row["verdict"] == "current"}
    assert current == stored & {f"{uuids.get(id_)}-ledger-{id_}" for id_ in offloaded}
    assert len(current) > 10
    missing = {row["ledger_id"] for row in rows if row["verdict"] == "missing"}
    assert missing == offloaded - {int(name.rpartition("-")[2]) for name in stored}
    sizes = {path.name: path.stat().st_size for path in OBJECTS.rglob("*-ledger-*")}
    assert [row["bytes"] for row in rows] == [sum(sizes[name] for name in row["objects"]) for row in rows]
    assert not any(row["leaks"] for row in rows)


def test_integrity_of_each_copy_and_layer(bundled: Audited) -> None:
    query = "SELECT layer, verdict, count(*) FROM integrity GROUP BY ALL ORDER BY ALL"
    with opened(str(bundled.out), query) as connection:
        found = connection.execute(query).fetchall()
    copies = len(bundled.rows("ledgers", "copy"))
    by_layer: dict[str, dict[str, int]] = {}
    for layer, verdict, count in found:
        by_layer.setdefault(layer, {})[verdict] = count
    assert {layer: sum(verdicts.values()) for layer, verdicts in by_layer.items()} == dict.fromkeys(
        ("index", "container", "record", "message"), copies
    )
    mismatches = [row for row in bundled.rows("scans") if row["checksum_mismatch"]]
    assert by_layer["message"].get("failed", 0) == len(mismatches)
    assert by_layer["container"] == {"agrees": copies}
