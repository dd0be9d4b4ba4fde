"""Audits of one folder, night after night: what is new is told once, in tables, report, result and exit code."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession

from pulsar_backlog.report.since import FIRST_CHANGES
from pulsar_backlog.sql.duck import opened, rows_of
from tests.auditing import copy_ledgers, data_object, index_object, run_audit
from tests.cli.typed import typed

NEEDS_SPARK = True

BROKEN, HEALTHY, LATER = 5, 267, 292


def test_what_is_new_is_told_once(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    source = copy_ledgers(tmp_path / "source", [HEALTHY])
    first = run_audit(source, out, fail_on="new-error")
    assert (first.exit_code, first.result["since_last_audit"]) == (0, None)
    assert 'id="since"' not in (out / "report.html").read_text()

    copy_ledgers(source, [BROKEN])
    second = run_audit(source, out, fail_on="new-error")
    assert second.exit_code == 1
    since = second.result["since_last_audit"]
    assert since["counts"]["error"]["new"] > 0
    assert since["rows"][0]["change"] == "new"
    page = (out / "report.html").read_text()
    first = page[page.index('id="since"') : page.index('id="next"')]
    assert first.count("<tr><th") == FIRST_CHANGES + 1, "the rest stands behind the findings"
    rest = page[page.index('id="changes"') :]
    assert page.index('id="findings"') < page.index('id="changes"')
    assert rest[: rest.index("</table>")].count("<tr><th") == len(since["rows"]) + 1
    new = {row["identity"] for row in second.rows("changes") if row["severity"] == "error"}
    (run_id,) = {row["run_id"] for row in second.rows("changes") if row["identity"] in new}
    assert {row["identity"] for row in since["rows"] if row["severity"] == "error"} <= new

    assert run_audit(source, out, fail_on="new-error").exit_code == 99  # nothing to do
    copy_ledgers(source, [LATER])
    third = run_audit(source, out, fail_on="new-error")
    assert third.exit_code == 0, "the errors are those of the night before"
    assert third.result["since_last_audit"]["counts"]["error"]["new"] == 0
    lasting = {row["identity"] for row in third.rows("problems") if row["change"] == "still"}
    assert new <= lasting
    assert {row["change"] for row in third.rows("changes") if row["identity"] in new} == {"new"}

    data_object(source, BROKEN).unlink()
    index_object(source, BROKEN).unlink()
    fourth = run_audit(source, out, fail_on="new-error")
    gone = {row["identity"] for row in fourth.rows("problems") if row["change"] == "gone"}
    assert new <= gone, "its ledger was deleted, which mends nothing"
    assert fourth.result["since_last_audit"]["counts"]["error"]["healed"] == 0

    said = typed(f"pulsar-backlog changes {out} --since {run_id[:12]}")
    assert said.code == 0, said.stderr
    told = [json.loads(line) for line in said.stdout.splitlines()]
    assert [row["change"] for row in told if row["identity"] == min(new)] == ["new", "gone"]
    query = "SELECT change, identity FROM since_last_night"
    with opened(str(out), query) as connection:
        in_view = {row["identity"]: row["change"] for row in rows_of(connection, query)}
    assert {in_view[one] for one in new} == {"gone"}
    assert "still" not in in_view.values()


def test_what_is_acknowledged_makes_no_exit_code(spark: SparkSession, tmp_path: Path) -> None:
    source, out = copy_ledgers(tmp_path / "source", [BROKEN, HEALTHY]), tmp_path / "out"
    known = tmp_path / "known.yaml"
    entry = "- {code: '*', subject: '*', owner: me, reason: seen, until: %s}\n"
    assert run_audit(source, out).exit_code == 1
    known.write_text(entry % "2999-12-31")
    covered = run_audit(source, out, known=str(known))
    assert covered.exit_code == 0
    assert {row["acknowledged_by"] for row in covered.rows("problems")} == {"me"}
    assert run_audit(source, out, known=str(known)).exit_code == 99
    known.write_text(entry % "2026-01-01")
    over = run_audit(source, out, known=str(known), fail_on="new-error")
    assert over.exit_code == 1, "the day is past"
    assert {row["reason"] for row in over.rows("problems")} == {"its acknowledgement ended"}
