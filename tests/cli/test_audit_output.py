"""What an audit says and leaves behind: JSON lines, result.json, report; and what must never be in them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pulsar_backlog.tables import TABLES
from tests.auditing import EXPECTED, OBJECTS, Audited

NEEDS_SPARK = True

DOCS = Path(__file__).parents[2] / "docs" / "result.md"


def test_the_exit_code_is_that_of_the_worst_finding(bundled: Audited) -> None:
    # which job runs, and progress on a slow machine
    assert all(line.startswith(("scan: ", "[")) for line in bundled.stderr.splitlines())
    assert bundled.exit_code == 1
    assert bundled.result["exit_code"] == 1


def test_standard_output_is_json_lines_where_it_is_no_terminal(bundled: Audited) -> None:
    assert bundled.stdout.isascii()
    first, *others = [json.loads(line) for line in bundled.stdout.splitlines()]
    assert set(first) == {"type", "schema_version", "cluster", "exit_code", "verdict", "counts", "next"}
    assert (first["type"], first["exit_code"]) == ("verdict", 1)
    findings = set(TABLES["findings"].column_names())
    assert [set(line) for line in others] == [{"type", *findings}] * len(others)
    assert len(others) == len(bundled.rows("findings"))


def test_result_json_has_the_documented_fields(bundled: Audited) -> None:
    text = DOCS.read_text()
    table = text.partition("\n## ")[0]
    documented = {
        name
        for line in table.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    assert set(bundled.result) == documented - {"maintenance"}  # only where `maintain` ran since
    assert bundled.result["schema_version"] == 3
    assert bundled.result["counts"]["entries"] == 812
    assert bundled.result["counts"]["rejected"] == 0
    assert bundled.result["tables"]["entries"] == 812
    assert bundled.result["findings"]["total"] == len(bundled.rows("findings"))
    assert bundled.result["topics"]["total"] == 51
    counted = text.partition("\n## counts")[2].partition("\n## ")[0].partition("|")[0]
    assert set(bundled.result["counts"]) == set(re.findall(r"`([a-z_]+)`", counted)) - {"by_outcome:"}


def test_the_report_is_one_file_with_every_broken_topic(bundled: Audited) -> None:
    page = (bundled.out / "report.html").read_text()
    assert bundled.result["verdict"]["headline"] in page
    for row in bundled.rows("chunked_messages", "topic", "state"):
        if row["state"] != "whole":
            assert row["topic"].rpartition("/")[2] in page
    for link in ("data_docs/index.html", "repairs.html"):
        assert f'href="{link}"' in page
        assert (bundled.out / link).exists()
    assert not re.search(r"""(?:src|href)=["']https?://[^"']*\.(?:js|css|png|woff2?)""", page)


def test_blocked_subscriptions_are_named_first_and_counted_as_the_tables_do(bundled: Audited) -> None:
    blocked = {
        (row["topic"], row["subscription"])
        for row in bundled.rows("stalls", "topic", "subscription", "blocks_dispatch")
        if row["blocks_dispatch"]
    }
    told = bundled.result["subscriptions"]
    assert len(blocked) == told["blocked"] == told["listed"] > 0
    assert {(row["topic"], row["subscription"]) for row in told["rows"]} == blocked
    first = told["rows"][0]
    headline = bundled.result["verdict"]["headline"]
    assert headline.startswith(f"{len(blocked)} subscriptions are stalled (")
    assert f"Worst: {first['topic']}, {first['subscription']}, at {first['ledger_id']}:{first['entry_id']}" in headline
    assert told["total"] == len(bundled.rows("subscriptions"))


def test_every_topic_lists_its_subscriptions_and_what_clients_do(bundled: Audited) -> None:
    backlog = {
        (row["topic"], row["subscription"]): row["backlog_entries"]
        for row in bundled.rows("subscriptions", "topic", "subscription", "backlog_entries")
    }
    models = {(row["topic"], row["model"]): row["delivered"] for row in bundled.rows("client_forecasts")}
    for topic in bundled.result["topics"]["rows"]:
        listed = topic["subscriptions"]
        assert listed["total"] == sum(of == topic["topic"] for of, _ in backlog)
        assert listed["listed"] == min(listed["total"], 12)
        for row in listed["rows"]:
            assert row["backlog_entries"] == backlog[topic["topic"], row["subscription"]]
        assert {row["model"]: row["delivered"] for row in topic["clients"]} == {
            model: count for (of, model), count in models.items() if of == topic["topic"]
        }
    assert (bundled.out / "report.html").read_text().count('class="f-acked" d=') > 50


@pytest.fixture(scope="module")
def secrets() -> dict[str, str]:
    """Known keys, property values and payload bytes of the backlog, each with where it comes from."""
    found = {}
    for path in (EXPECTED / "truth").glob("*.java-reader.jsonl"):
        for line in path.read_text().splitlines():
            message = json.loads(line)
            texts = [message.get("key") or "", *message["props"].values()]
            found |= {text: path.name for text in texts if len(text) > 5 and not text.isdecimal()}  # no mere sizes
    data = b"".join(path.read_bytes() for path in OBJECTS.iterdir())
    plain = [match.decode() for match in re.findall(rb"(?:healthy|plain|payload)[ -~]{6,20}", data)[:50]]
    return found | dict.fromkeys(plain, "payload")


def test_no_payload_key_or_property_value_in_what_people_pass_around(bundled: Audited, secrets: dict[str, str]) -> None:
    passed = [
        bundled.stdout,
        bundled.stderr,
        (bundled.out / "report.html").read_text(),
        (bundled.out / "result.json").read_text(),
    ]
    passed += [path.read_text(errors="replace") for path in (bundled.out / "data_docs").rglob("*") if path.is_file()]
    passed += [
        json.dumps(bundled.rows(name), default=str)
        for name in ("findings", "quality_results", "chunked_messages", "chunks", "runs")
    ]
    for text, origin in secrets.items():
        assert not [place[:60] for place in passed if text in place], (text, origin)


def test_every_rule_about_losses_passes_on_the_bundled_backlog(bundled: Audited) -> None:
    rows = bundled.rows("quality_results")
    failed = {row["rule"] for row in rows if not row["passed"]}
    assert failed <= {"audit_no_error_findings"}, failed
    assert len({row["rule"] for row in rows}) > 25
