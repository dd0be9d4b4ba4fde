"""`pulsar-backlog inventory`: what may go is on a list only where the copy that stays was scanned and is whole."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.cli import run_cli
from tests.blank_rows import NOON
from tests.small_tables import write_tables

GIB = 1024**3
LEDGER = {
    "copy": "x",
    "selected": True,
    "expected_entries": 3,
    "expected_bytes": 9,
    "data_bytes": 200,
    "data_etag": "e",
}
SCAN = {
    "copy": "x", "complete": True, "frames": 3, "decoded": 3, "entry_bytes": 9, "data_bytes": 200, "data_etag": "e",
}  # fmt: skip
LEFTOVER = {
    "copy": "y", "kind": "jcloud", "verdict": "leftover", "leaks": True, "current_copy": "x", "bytes": 2 * GIB,
    "objects": ["y-1", "y-1-index"],
}  # fmt: skip
TRIMMED = {
    "ledger_id": 2, "copy": "z", "kind": "jcloud", "verdict": "trimmed", "leaks": True, "needs_sole_owner": True,
    "bytes": GIB, "objects": ["z-2"],
}  # fmt: skip
CURRENT = {"copy": "x", "kind": "jcloud", "verdict": "current", "bytes": 5 * GIB, "objects": ["x-1", "x-1-index"]}
RUN = {"cluster": "default", "run_id": "1", "job": "inventory_ledgers", "source": "s3://box/p", "started": NOON}


def audited(out: Path, scan: dict[str, Any], *runs: dict[str, Any]) -> Path:
    ours = {"cluster": "default"}
    ledgers = [{**ours, "ledger_id": 0, **LEDGER}]
    inventory = [{**ours, "ledger_id": 0, **row} for row in (LEFTOVER, CURRENT)] + [{**ours, **TRIMMED}]
    other = {"cluster": "other", "ledger_id": 9, **TRIMMED, "needs_sole_owner": False, "objects": ["other-cluster"]}
    scans = [{**ours, "ledger_id": 0, **SCAN, **scan}]
    return write_tables(out, runs=[RUN, *runs], ledgers=ledgers, scans=scans, inventory=[*inventory, other])


def asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], out: Path, *options: str
) -> tuple[dict[str, Any], list[str]]:
    """What the command says, and the keys on its lists."""
    folder = out / "lists"
    argv = ["pulsar-backlog", "inventory", str(out), "--delete-list", str(folder), *options]
    monkeypatch.setattr(sys, "argv", argv)
    with pytest.raises(SystemExit) as ended:
        run_cli()
    assert ended.value.code in (0, None)
    said = json.loads(capsys.readouterr().out)
    keys = [item["Key"] for file in sorted(folder.glob("*.json")) for item in json.loads(file.read_text())["Objects"]]
    return said, keys


def test_what_is_listed_and_what_it_costs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said, keys = asked(monkeypatch, capsys, audited(tmp_path, {}), "--price-per-gib-month", "0.5")
    assert keys == ["p/y-1", "p/y-1-index"]
    lines = {line["verdict"]: (line["copies"], line["per_month"], line["stays"]) for line in said["lines"]}
    assert lines == {
        "current": (1, 2.5, "needed"),
        "leftover": (1, 1.0, None),
        "trimmed": (1, 0.5, "owner"),
    }
    assert (said["source"], said["listed_objects"]) == ("s3://box/p", 2)
    assert "--bucket box" in said["commands"][0]


def test_with_the_word_of_the_owner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _, keys = asked(monkeypatch, capsys, audited(tmp_path, {}), "--sole-owner")
    assert sorted(keys) == ["p/y-1", "p/y-1-index", "p/z-2"]


@pytest.mark.parametrize(
    "scan",
    [
        {"copy": "another"},  # it was never scanned
        {"complete": False},
        {"rejected": 1},
        {"checksum_mismatch": 1},
        {"structure_faults": 1},
        {"order_faults": 1},
        {"frames": 2},
        {"entry_bytes": 8},
        {"data_bytes": 199},  # the object was changed after its scan
        {"data_etag": "f"},
        {"cluster": "other"},
    ],
)
def test_a_copy_that_may_be_the_last_whole_one_is_not_listed(
    scan: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said, keys = asked(monkeypatch, capsys, audited(tmp_path, scan))
    assert keys == []
    assert {line["verdict"]: line["stays"] for line in said["lines"]}["leftover"] == "scan"


SECOND = {**RUN, "run_id": "2", "started": NOON + timedelta(hours=1)}


@pytest.mark.parametrize(
    ("second", "is_refused"),
    [
        # What is known of the first place's other ledgers stays, and its keys may be another ledger's in the second.
        ({"source": "s3://copy/p", "options": {"ledger": "('7',)"}}, True),
        ({"source": "s3://copy/p", "options": {"since": "2026-01-01"}}, True),
        ({"options": {"endpoint": "http://127.0.0.1:9000", "topic": "('a',)"}}, True),
        ({"options": {"ledger": "('7',)"}}, False),
        ({"source": "s3://copy/p", "options": {"admin": "a"}}, False),  # it took in everything, and replaced all
    ],
)
def test_an_inventory_of_two_places_gives_no_list(
    second: dict[str, Any],
    is_refused: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    audited(tmp_path, {}, {**SECOND, **second})
    if not is_refused:
        _, keys = asked(monkeypatch, capsys, tmp_path)
        assert keys == ["p/y-1", "p/y-1-index"]
        return
    monkeypatch.setattr(
        sys, "argv", ["pulsar-backlog", "inventory", str(tmp_path), "--delete-list", str(tmp_path / "x")]
    )
    with pytest.raises(SystemExit) as ended:
        run_cli()
    assert ended.value.code == 2
    assert "several places" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_without_an_inventory(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_tables(tmp_path, runs=[{**RUN, "job": "check_quality"}])
    monkeypatch.setattr(sys, "argv", ["pulsar-backlog", "inventory", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        run_cli()
    assert ended.value.code == 2
    assert "audit it first" in capsys.readouterr().err


def test_lists_do_not_lie_among_ledgers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    out = write_tables(tmp_path / "out", runs=[{**RUN, "source": str(source)}], ledgers=[], scans=[], inventory=[])
    monkeypatch.setattr(sys, "argv", ["pulsar-backlog", "inventory", str(out), "--delete-list", str(source / "lists")])
    with pytest.raises(SystemExit) as ended:
        run_cli()
    assert ended.value.code == 2
    assert "among its ledgers: choose another --delete-list" in capsys.readouterr().err
    assert list(source.iterdir()) == []


def test_who_holds_the_largest_ledgers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ours = {"cluster": "default", "topic": "t"}
    limits = dict.fromkeys(("ranges", "batch_entries", "metadata_store_ranges", "frame_bytes"), 1)
    cursor = {**ours, "kind": "subscription", "state": "whole", "limits": limits | {"long_array": True}}
    write_tables(
        tmp_path,
        runs=[RUN],
        inventory=[{**ours, "ledger_id": 1, **CURRENT}],
        ledgers=[
            {**ours, "ledger_id": number, **LEDGER, "data_bytes": number * GIB, "closed_time": closed}
            for number, closed in ((1, NOON - timedelta(hours=30)), (2, NOON))
        ],
        saved_states=[{**ours, "saved_time": NOON, "state": '{"ttl_seconds": 3600}'}],
        subscriptions=[
            {**cursor, "subscription": "slow", "mark_delete_ledger_id": 1, "mark_delete_entry_id": 0},
            {**cursor, "subscription": "fast", "mark_delete_ledger_id": 2, "mark_delete_entry_id": 1},
        ],
    )
    said, _ = asked(monkeypatch, capsys, tmp_path, "--price-per-gib-month", "0.5")
    assert [(one["ledger_id"], one["per_month"], one["holders"], one["more"]) for one in said["largest"]] == [
        (2, 1.0, ["cursor fast", "cursor slow"], 0), (1, 0.5, ["cursor slow (29 h late)"], 0),
    ]  # fmt: skip
    (sole,) = said["sole_holders"]
    assert (sole["topic"], sole["holder"], sole["ledgers"], sole["per_month"]) == ("t", "cursor slow", 1, 0.5)
