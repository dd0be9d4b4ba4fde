"""How often a bucket is asked: each page of its listing once, each index once, whatever else is known."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.explain import explain_entry
from tests.auditing import ADMIN, EXPECTED, OBJECTS, rows_of, run_one
from tests.ledgers.conftest import S3Server, aws, s3_server
from tests.ledgers.faulty import FaultyProxy, faulty

NEEDS_SPARK = True

__all__ = ["aws", "s3_server"]


@pytest.fixture
def proxy(s3_server: S3Server, aws: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    known = json.loads((EXPECTED / "objects.json").read_text())
    objects = {path.name: (path.read_bytes(), known[path.name]["metadata"]) for path in OBJECTS.iterdir()}
    s3_server.fill("asked", objects)
    with faulty(s3_server.endpoint) as running:
        yield running


def asked(proxy: FaultyProxy) -> tuple[int, Counter[str]]:
    """Pages of listings that were asked for, and how often each object was."""
    listings = [request for request in proxy.asked if "list-type=2" in request]
    paths = (request.partition("/asked/")[2].partition("?")[0] for request in proxy.asked)
    return len(listings), Counter(path for path in paths if path)


def test_an_inventory_with_admin_json(spark: SparkSession, proxy: FaultyProxy, tmp_path: Path) -> None:
    options = {"endpoint": proxy.endpoint, "admin": ADMIN, "cluster": "demo"}
    audited = run_one("inventory_ledgers", "s3://asked", tmp_path / "out", **options)
    assert audited.exit_code in (0, 1), audited.stderr
    pages, objects = asked(proxy)
    indexes = {path.name for path in OBJECTS.glob("*-index")}
    assert pages == 2  # the first look's, before anything slow begins, and the inventory's
    assert {name: count for name, count in objects.items() if name in indexes} == dict.fromkeys(indexes, 1)
    proxy.asked.clear()
    assert run_one("inventory_ledgers", "s3://asked", tmp_path / "out", **options).exit_code == 99
    assert asked(proxy)[0] == 2
    assert not asked(proxy)[1]


def test_the_next_night_asks_for_what_is_new(
    spark: SparkSession, s3_server: S3Server, proxy: FaultyProxy, tmp_path: Path
) -> None:
    options = {"endpoint": proxy.endpoint, "admin": ADMIN, "cluster": "demo", "store_attempts": 1}
    client, bucket = s3_server.client(), {"Bucket": "asked"}
    indexes = sorted(path.name for path in OBJECTS.glob("*-index"))

    def night() -> Counter[str]:
        proxy.asked.clear()
        audited = run_one("inventory_ledgers", "s3://asked", tmp_path / "out", **options)
        assert audited.exit_code in (0, 1, 4), audited.stderr
        return asked(proxy)[1]

    proxy.plan([None, None, None, "500"])  # an index, behind listings of objects and of uploads
    assert night().total() >= len(indexes)
    (unread,) = (row["evidence"][0] for row in rows_of(tmp_path / "out", "findings") if row["code"] == "S02")
    assert night() == {unread: 1}  # and nothing of what could be read
    assert not any(row["code"] == "S02" for row in rows_of(tmp_path / "out", "findings"))
    client.put_object(**bucket, Key="notes", Body=b"news that are no ledger's")
    assert not night()
    body = client.get_object(**bucket, Key=indexes[0])["Body"].read()
    client.put_object(**bucket, Key=indexes[0], Body=bytes(reversed(body)))  # of the same size
    assert indexes[0] in night()
    client.put_object(**bucket, Key=indexes[0], Body=body)
    assert set(night()) == {indexes[0]}
    client.put_object(**bucket, Key="notes", Body=b"other news")
    assert not night()


def test_explain(proxy: FaultyProxy) -> None:
    model = explain_entry("s3://asked", proxy.endpoint, "22:3", False)
    assert model.publication
    pages, objects = asked(proxy)
    assert pages == 2  # the first look's too: what does not answer is no missing ledger
    assert {count for name, count in objects.items() if name.endswith("-index")} == {1}
