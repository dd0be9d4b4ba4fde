"""Commands can be copied as they stand: the user's own paths, and places from the finding."""

from __future__ import annotations

import re
import shlex

import pytest

from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.options.printed import Run
from pulsar_backlog.report.commands import READS_ONLY, all_findings, changes_of, fill, remedies
from pulsar_backlog.report.model import FindingRow
from pulsar_backlog.subscriptions.advice import Need
from tests.report.sample_parts import finding


def command(code: str, row: FindingRow | None, source: str = "s3://b/p", out: str = "my out") -> str:
    return fill(CATALOGUE[code].command, Run(source, out), row)


def test_sql_names_the_ledger_of_the_finding() -> None:
    row = finding("S10", "ledger:22", "x", ledger_id=22)
    assert command("S10", row) == "pulsar-backlog sql 'my out' \"SELECT * FROM rejects WHERE ledger_id = 22\""


def test_sql_without_a_known_ledger_asks_for_all() -> None:
    assert command("S10", None) == "pulsar-backlog sql 'my out' \"SELECT * FROM rejects\""


@pytest.mark.parametrize(
    ("row", "place"),
    [
        (finding("E01", "5:7", "x", ledger_id=5, entry_id=7), "5:7"),
        (finding("E01", "ledger:5", "x", ledger_id=5, evidence=("object a", "5:9")), "5:9"),
        (finding("E01", "x", "x", evidence=("5:9; reboot", "٣:٤")), "LEDGER:ENTRY"),
        (None, "LEDGER:ENTRY"),
    ],
    ids=["own position", "from the evidence", "evidence that is no position", "no finding"],
)
def test_explain_names_an_entry(row: FindingRow | None, place: str) -> None:
    assert command("E01", row) == f"pulsar-backlog explain s3://b/p {place}"


def test_topic_is_one_word_whatever_it_holds() -> None:
    topic = "persistent://lab/s3/$(reboot) OUT 'x'"
    assert shlex.split(command("S16", finding("S16", "x", "x", topic=topic)))[-1] == topic
    assert command("S16", finding("S16", "x", "x")).endswith(" TOPIC")
    assert command("S16", finding("S16", "x", "x", topic="t" * 1001)).endswith(" TOPIC")


def test_every_command_of_the_catalogue_splits_into_words_without_placeholders() -> None:
    for code, kind in CATALOGUE.items():
        row = finding(code, "s", "m", topic="persistent://a/b/c", ledger_id=1, entry_id=2)
        words = shlex.split(fill(kind.command, Run("in dir", "out dir"), row))
        assert not {"SOURCE", "SUBJECT", "LEDGER:ENTRY"} & set(words), code
        assert ("OUT" in words) == (words[1] == "compare"), code  # the folder of a comparison is its reader's choice
        assert not any("SUBJECT" in word for word in words), code


BUCKET = Run("s3://b/p", "my out", {"cluster": "eu 1", "endpoint": "http://minio:9000"})


@pytest.mark.parametrize(
    ("need", "commands"),
    [
        ("keep", [
            "pulsar-backlog export 'my out' --cluster 'eu 1' --endpoint http://minio:9000 --topic 't[[]1]'",
            "pulsar-backlog repair plan 'my out' --cluster 'eu 1' --topic 't[[]1]' --subscription 'a[*]b' "
            "--give-up 13:3"]),
        ("settle", [
            "pulsar-backlog explain s3://b/p --endpoint http://minio:9000 13:3",
            "pulsar-backlog repair plan 'my out' --cluster 'eu 1' --topic 't[[]1]' --subscription 'a[*]b' "
            "--accept-unsure likely"]),
        ("export", [
            "pulsar-backlog export 'my out' --cluster 'eu 1' --endpoint http://minio:9000 --topic 't[[]1]'",
            "pulsar-backlog repair plan 'my out' --cluster 'eu 1' --topic 't[[]1]' --subscription 'a[*]b'"]),
        ("acknowledge", [
            "pulsar-backlog repair plan 'my out' --cluster 'eu 1' --topic 't[[]1]' --subscription 'a[*]b'"]),
        ("wait", ["pulsar-backlog explain s3://b/p --endpoint http://minio:9000 13:3"]),
    ],
)  # fmt: skip
def test_remedies_name_cluster_and_endpoint_where_they_are_not_the_usual_ones(need: Need, commands: list[str]) -> None:
    assert [one.text for one in remedies(need, BUCKET, "t[1]", "a*b", [(13, 3)])] == commands


@pytest.mark.parametrize("need", ["acknowledge", "reset", "settle", "wait"])
def test_no_plan_is_named_for_a_segment(need: Need) -> None:
    (only,) = remedies(need, BUCKET, "segment://t/ns/a/0000-ffff-0", "sub", [(13, 3)])
    assert only.text.startswith("pulsar-backlog explain")
    (only,) = remedies("export", BUCKET, "segment://t/ns/a/0000-ffff-0", "sub", [(13, 3)])
    assert only.text.startswith("pulsar-backlog export")


def test_a_name_that_no_command_can_hold_stays_a_placeholder() -> None:
    (plan,) = remedies("acknowledge", Run("s", "o", {"cluster": "default"}), "t" * 1001, "n" * 1001, [])
    assert plan.text == "pulsar-backlog repair plan o --topic TOPIC --subscription SUBSCRIPTION"


def test_commands_of_findings_name_the_cluster_only_where_it_is_needed() -> None:
    words = [shlex.split(fill(CATALOGUE[code].command, BUCKET, None)) for code in sorted(CATALOGUE)]
    for command in words:
        assert ("--cluster" in command) == (command[1] in ("export", "audit", "inventory", "internals", "locate")), (
            command
        )
        assert ("--endpoint" in command) == (command[1] in ("export", "audit", "explain", "rebuild-topic")), command


def test_only_what_writes_is_said_to_change_anything() -> None:
    changing = {code for code, kind in CATALOGUE.items() if changes_of(kind.command) != READS_ONLY}
    writing = re.compile("pulsar-backlog (export|audit) |pulsar-admin topics offload ")
    assert changing == {code for code, kind in CATALOGUE.items() if writing.match(kind.command)}


def test_code_of_another_version_does_not_reach_the_sql() -> None:
    run = Run("s", "out")
    assert all_findings(run, "C06") == "pulsar-backlog sql out \"SELECT * FROM findings WHERE code = 'C06'\""
    assert all_findings(run, "x'; DROP") == 'pulsar-backlog sql out "SELECT * FROM findings"'
