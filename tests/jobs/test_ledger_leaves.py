"""A ledger that leaves the source is said, judges nothing any more, stays as history, and may come back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.sql.duck import opened, rows_of
from pulsar_backlog.sql.locating import Positions
from tests.auditing import ADMIN, copy_ledgers, run_audit

NEEDS_SPARK = True

BROKEN, TOPIC = 22, "persistent://lab/s3/brk-dup-prefix"
HEALTHY = 267
READ = ("entries", "scans", "ledger_facts", "noted_entries", "entry_spans", "producer_facts")
JUDGED = (
    "gone_ledgers", "ledgers", "chunked_messages", "chunks", "stalls", "findings", "quality_results", "topic_stats",
    "consumer_outcomes",
)  # fmt: skip


def ask(out: Path, query: str) -> list[dict[str, Any]]:
    with opened(str(out), query) as connection:
        return rows_of(connection, query)


def move(ledger_id: int, source: Path, target: Path) -> None:
    target.mkdir(exist_ok=True)
    for path in [*source.glob(f"*-ledger-{ledger_id}*")]:
        path.rename(target / path.name)


@pytest.fixture(scope="module")
def audits(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Two ledgers, then one of them, then both again, each audited into the same folder; what each audit said."""
    root = tmp_path_factory.mktemp("gone")
    source, out = copy_ledgers(root / "objects", [BROKEN, HEALTHY]), root / "out"
    said: dict[str, Any] = {}
    for name in ("both", "one", "again", "back"):
        if name == "one":
            move(BROKEN, source, root / "elsewhere")
        if name == "back":
            move(BROKEN, root / "elsewhere", source)
        audited = run_audit(source, out, admin=ADMIN, cluster="c")
        tables = {name: audited.rows(name) for name in (*READ, *JUDGED) if (out / "tables" / name).exists()}
        said[name] = {
            "exit": audited.exit_code, "result": json.loads((out / "result.json").read_text()), "tables": tables,
            "overview": ask(out, "SELECT topic, entries FROM topic_overview"),
            "seeks": Positions(str(out)).at([(BROKEN, 0)]),
            "producers": ask(out, "SELECT topic FROM producers"),
            "report": (out / "report.html").read_text(),
        }  # fmt: skip
    yield said


def of_table(audit: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [row for row in audit["tables"][name] if row.get("topic") == TOPIC]


def test_before_it_goes(audits: dict[str, Any]) -> None:
    both = audits["both"]
    assert of_table(both, "chunked_messages")
    assert of_table(both, "stalls")
    assert "can be rebuilt" in both["result"]["verdict"]["headline"]
    assert both["tables"].get("gone_ledgers", []) == []


def test_it_is_a_warning_that_names_topic_and_ledger(audits: dict[str, Any]) -> None:
    (found,) = [row for row in audits["one"]["tables"]["findings"] if row["code"] == "S43"]
    assert (found["severity"], found["topic"], found["evidence"]) == ("warning", TOPIC, ["ledger 22"])
    assert "1 ledger of this topic left the source since the last audit (22)" in found["message"]


def test_nothing_is_judged_by_it(audits: dict[str, Any]) -> None:
    one = audits["one"]
    for name in ("chunked_messages", "chunks", "stalls", "topic_stats", "consumer_outcomes", "ledgers"):
        assert of_table(one, name) == [], name
    assert [row["topic"] for row in one["overview"]] != []
    assert TOPIC not in {row["topic"] for row in [*one["overview"], *one["producers"]]}
    assert one["seeks"] == []
    assert {row["code"] for row in of_table(one, "findings")} == {"S43"}
    assert [
        row["rule"] for row in one["tables"]["quality_results"] if not row["passed"] and row["severity"] == "error"
    ] == []
    assert TOPIC not in one["result"]["verdict"]["headline"]
    assert "lost" not in one["result"]["verdict"]["headline"]
    assert not any(TOPIC in step["command"] for step in one["result"]["next"])


def test_it_stays_as_history(audits: dict[str, Any]) -> None:
    one, both = audits["one"], audits["both"]
    for name in READ:
        assert of_table(one, name) == of_table(both, name)
        assert of_table(one, name)
    (gone,) = one["tables"]["gone_ledgers"]
    assert (gone["ledger_id"], gone["topic"], gone["scanned"], gone["expected"]) == (BROKEN, TOPIC, True, False)


def test_an_audit_without_news_leaves_it_so(audits: dict[str, Any]) -> None:
    assert audits["again"]["exit"] in (1, 99)
    assert audits["again"]["tables"] == audits["one"]["tables"]


def test_what_comes_back_lives_again(audits: dict[str, Any]) -> None:
    back, both = audits["back"], audits["both"]
    assert back["tables"]["gone_ledgers"] == []
    for name in ("chunked_messages", "chunks", "stalls", "topic_stats", "consumer_outcomes", "entries"):
        assert of_table(back, name) == of_table(both, name), name
    assert back["overview"] == both["overview"]
    assert [row["code"] for row in of_table(back, "findings") if row["code"] == "S43"] == []
    assert back["result"]["verdict"] == both["result"]["verdict"]
