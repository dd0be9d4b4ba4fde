"""Saved state that is named must say something: a folder of nothing usable is a mistake, and a gap is told."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pulsar_backlog.cluster.absent import findings_of_absent
from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.required_state import look_at_admin, required_state
from pulsar_backlog.cluster.snapshot_index import INDEX_NAME
from pulsar_backlog.errors import UsageError
from tests.cluster.test_admin_json import LIVE, STATS, write

NAMELESS = {**STATS, "lastOffloadLedgerId": 0}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        pytest.param({}, "(it is empty)", id="empty"),
        pytest.param({"x.json": b'{"ledgers": ['}, "1 file, such as x.json: not whole JSON", id="truncated"),
        pytest.param({"x.json": b"<html>", "y.json": b""}, "2 files, such as x.json: not whole JSON", id="pages"),
        pytest.param({"topics.json": ["persistent://lab/s3/a"]}, "1 file, such as topics.json", id="a list of topics"),
        pytest.param({"cluster.json": {"snapshotKind": "cluster"}}, "such as cluster.json", id="no topic saved"),
    ],
)
def test_a_folder_that_says_nothing(tmp_path: Path, files: dict[str, object], said: str) -> None:
    write(tmp_path, files)
    with pytest.raises(UsageError, match=re.escape(said)):
        look_at_admin(str(tmp_path))
    for look in (lambda: look_at_admin(str(tmp_path)), lambda: required_state(tmp_path, {})):
        with pytest.raises(UsageError) as told:
            look()
        sentence = str(told.value)
        assert f"--admin {tmp_path}" in sentence
        assert "stats-internal" in sentence
        assert "pulsar-backlog snapshot --admin-url" in sentence
        assert "\n" not in sentence


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--admin: there is no folder"):
        look_at_admin(str(tmp_path / "none"))


def test_no_folder_is_no_mistake() -> None:
    look_at_admin(None)


def test_one_usable_file_is_enough(tmp_path: Path) -> None:
    write(tmp_path, {"a.json": b"{", "b.json": LIVE})
    look_at_admin(str(tmp_path))
    assert [one.incomplete for one in required_state(tmp_path, {}).findings] == [True]


def test_a_document_of_no_known_topic_is_a_mistake_where_it_is_the_only_one(tmp_path: Path) -> None:
    write(tmp_path, {"a.json": NAMELESS})
    look_at_admin(str(tmp_path))  # the ledgers of the source may tell of which topic it is
    with pytest.raises(UsageError, match="does not say which topic"):
        required_state(tmp_path, {})


def _index(folder: Path, *lines: object) -> None:
    (folder / INDEX_NAME).write_text("".join(json.dumps(line) + "\n" for line in lines))


def _entry(topic: str, status: str, *files: str, note: str | None = None) -> dict[str, object]:
    return {"topic": topic, "status": status, "at_ms": 1, "files": files, "note": note, "asked_ms": None}


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        pytest.param([_entry("a", "saved", "a.json"), {"finished_ms": 2}], [], id="whole"),
        pytest.param([_entry("a", "gone"), {"finished_ms": 2}], [], id="a topic that was deleted meanwhile"),
        pytest.param(
            [_entry("a", "failed", note="timed out"), {"finished_ms": 2}], [("a", "timed out")], id="a topic not saved"
        ),
        pytest.param(
            [_entry("a", "failed", note="x"), _entry("a", "saved", "a.json"), {"finished_ms": 2}], [], id="tried again"
        ),
        pytest.param([_entry("a", "saved", "b.json"), {"finished_ms": 2}], [("a", "b.json")], id="a file not copied"),
        pytest.param([_entry("a", "saved", "a.json")], [(INDEX_NAME, "not finished")], id="killed"),
    ],
)
def test_gaps_of_a_snapshot(tmp_path: Path, lines: list[object], told: list[tuple[str, str]]) -> None:
    write(tmp_path, {"a.json": LIVE})
    _index(tmp_path, {"version": 1, "begun_ms": 1}, *lines)
    findings = read_cluster_state(tmp_path, {}).findings
    assert [(one.code, one.subject, one.incomplete) for one in findings] == [("S19", name, True) for name, _ in told]
    assert all(words in one.message for one, (_, words) in zip(findings, told, strict=True))


@pytest.mark.parametrize(
    ("stored", "codes"),
    [
        ({257}, ["S16"]),  # one in common
        ({1}, ["S16", "S42"]),  # none: another cluster's
    ],
)
def test_state_of_another_cluster(tmp_path: Path, stored: set[int], codes: list[str]) -> None:
    write(tmp_path, {"a.json": LIVE, "b.json": {"partitions": {"persistent://lab/s3/b": _of_ledger(9)}}})
    assert [
        one.code for one in findings_of_absent(read_cluster_state(tmp_path, {}), stored) if one.code != "S15"
    ] == codes


@pytest.mark.parametrize("count", [20, 21])
def test_evidence_that_does_not_name_all_says_so(tmp_path: Path, count: int) -> None:
    ledgers = [{"ledgerId": number, "entries": 1, "size": 1, "offloaded": True} for number in range(count + 1)]
    write(tmp_path, {"a.json": {"partitions": {"persistent://lab/s3/a": {**LIVE, "ledgers": ledgers}}}})
    (finding,) = (one for one in findings_of_absent(read_cluster_state(tmp_path, {}), {0}) if one.code == "S15")
    assert finding.count == count
    assert (", of which the evidence names the first 20." in finding.message) == (count > 20)


def _of_ledger(ledger_id: int) -> dict[str, object]:
    return {**LIVE, "ledgers": [{"ledgerId": ledger_id, "entries": 1, "size": 1, "offloaded": True}]}
