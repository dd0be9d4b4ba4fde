"""`bundle`, as it is typed: what a stranger gets, what is not in it, and that it explains without the bucket."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pulsar_backlog.foreign_text import shell_word
from pulsar_backlog.wire.entry import decode_entry
from tests.auditing import OBJECTS, Audited, rows_of
from tests.cli.typed import Typed, typed

NEEDS_SPARK = True

KEYED = "persistent://lab/s3/part-chunk-partition-0"
HOSTILE = 'persistent://lab/s3/[br]{ace}|\\^`"<>'
BROKEN = "persistent://lab/s3/brk-missing"


def bundle(audited: Audited, code: str, topic: str, *more: str) -> Typed:
    words = ("pulsar-backlog", "bundle", str(audited.out), "--finding", code, "--topic", topic, *more)
    return typed(" ".join(map(shell_word, words)))


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {one.filename: archive.read(one) for one in archive.infolist()}


def manifest(path: Path) -> dict[str, Any]:
    return dict(json.loads(members(path)["manifest.json"]))


def stored(audited: Audited, position: str) -> bytes:
    """An entry's bytes, as the table says where they lie."""
    (row,) = [one for one in audited.rows("entries") if f"{one['ledger_id']}:{one['entry_id']}" == position]
    return (OBJECTS / row["uri"]).read_bytes()[row["offset"] : row["offset"] + row["length"]]


def test_a_stranger_can_check_it(bundled: Audited, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = bundle(bundled, "C06", BROKEN)
    assert (done.code, done.stderr) == (0, "")
    printed = done.stdout.splitlines()[1].partition(": ")[2]
    assert printed == "pulsar-backlog explain C06.zip 5:6"

    there = manifest(tmp_path / "C06.zip")
    assert there["finding"]["meaning"] in members(tmp_path / "C06.zip")["README.txt"].decode()
    assert (there["topic"], there["cluster"], there["redacted"]) == (BROKEN, "demo", True)
    assert any(line.startswith("pulsar-backlog ") for line in there["versions"])
    again = typed(f"{there['command']} --to again.zip")
    assert again.code == 0, "the command in it is the one that made it"
    others = {"manifest.json", "SHA256SUMS"}  # the first says when
    assert {n: d for n, d in members(tmp_path / "again.zip").items() if n not in others} == {
        n: d for n, d in members(tmp_path / "C06.zip").items() if n not in others
    }

    with zipfile.ZipFile("C06.zip") as archive:
        archive.extractall("unpacked")
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd="unpacked", check=True, capture_output=True)

    monkeypatch.setattr("pulsar_backlog.explain.explain_entry", None)  # nothing of the source is asked
    explained = typed(printed)
    assert explained.code == 0, explained.stderr
    for words in ("its checksum matched when the bundle was made", "raw5-2", "orphan_prefix", BROKEN):
        assert words in explained.stdout


def test_rows_are_those_of_the_audit(bundled: Audited, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    assert bundle(bundled, "C24", BROKEN, "--to", str(path)).code == 0
    inside = members(path)
    (finding,) = json.loads(inside["rows/findings.json"])
    assert (finding["code"], finding["topic"]) == ("C24", BROKEN)
    stalls = [row for row in bundled.rows("stalls") if row["topic"] == BROKEN]
    subscriptions = {row["subscription"] for row in json.loads(inside["rows/stalls.json"])}
    assert subscriptions <= {row["subscription"] for row in stalls}
    for name in [one.removesuffix(".json") for one in inside if one.startswith("rows/") and one.endswith(".json")]:
        rows, parquet = json.loads(inside[f"{name}.json"]), pq.read_table(io.BytesIO(inside[f"{name}.parquet"]))
        assert len(rows) == parquet.num_rows
        assert [list(row) for row in rows] == [parquet.column_names] * len(rows)
    positions = {(row["ledger_id"], row["entry_id"]) for row in json.loads(inside["rows/entries.json"])}
    assert positions == {(row["ledger_id"], row["entry_id"]) for row in json.loads(inside["rows/chunks.json"])}
    one = min(subscriptions)
    narrow = tmp_path / "b.zip"
    assert bundle(bundled, "C24", BROKEN, "--subscription", one, "--to", str(narrow)).code == 0
    assert {row["subscription"] for row in json.loads(members(narrow)["rows/stalls.json"])} == {one}
    assert {row["subscription"] for row in json.loads(members(narrow)["rows/subscriptions.json"])} == {one}


@pytest.mark.parametrize(("code", "topic"), [("C01", KEYED), ("C01", "persistent://lab/s3/enc-two"), ("C01", HOSTILE)])
def test_what_people_sent_is_not_in_it_unless_asked_for(
    bundled: Audited, tmp_path: Path, code: str, topic: str
) -> None:
    path, open_path = tmp_path / "a.zip", tmp_path / "b.zip"
    assert bundle(bundled, code, topic, "--to", str(path)).code == 0
    inside, entries = members(path), manifest(path)["entries"]
    assert entries
    everything = b"".join(data for name, data in inside.items() if name != "report.html")
    secrets = 0
    for about in entries:
        whole, bare = stored(bundled, about["position"]), inside[f"entries/{about['position'].replace(':', '-')}.bin"]
        assert about["sha256"] == hashlib.sha256(whole).hexdigest()
        entry, shown = decode_entry(whole), decode_entry(bare)
        end = entry.layout.payload_offset
        assert len(bare) == end, "no byte of the payload"
        differing = {at for at in range(end) if whole[at] != bare[at]}
        assert differing == {at for first, after in about["masked"] for at in range(first, after) if whole[at]}
        assert (shown.metadata.uuid, shown.metadata.publish_time) == (entry.metadata.uuid, entry.metadata.publish_time)
        values = [*(entry.metadata.properties or {}).values(), entry.metadata.partition_key or ""]
        values = [value for value in values if len(value) > 3 and not value.isdecimal()]  # sizes stand elsewhere too
        secrets += len(values)
        assert not [value for value in values if value.encode() in everything]
        assert whole[end : end + 40] not in everything
    assert secrets or topic != KEYED

    assert bundle(bundled, code, topic, "--show-values", "--to", str(open_path)).code == 0
    for about in manifest(open_path)["entries"]:
        data = members(open_path)[f"entries/{about['position'].replace(':', '-')}.bin"]
        assert data == stored(bundled, about["position"])
    explained = typed(f"pulsar-backlog explain {open_path} {about['position']} --show-values")
    assert explained.code == 0
    assert "withheld" not in explained.stdout


def test_what_is_not_plain_is_asked_for(bundled: Audited, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refusals = {
        "--finding C06": "topics have it: name one of them with --topic",
        "--finding C06 --topic '*/none'": "no topic with it matches --topic */none",
        "--finding X99": "there is no code 'X99'",
        "--finding S48": "the audit has no finding S48",
        f"--finding C06 --topic {BROKEN} --entry 5:x": "'5:x' is not a position",
        f"--finding C06 --topic {BROKEN} --to {tmp_path}": "exists already",
        f"--finding C06 --topic {BROKEN} --to {tmp_path}/none/a.zip": "cannot be written",
    }
    for options, words in refusals.items():
        done = typed(f"pulsar-backlog bundle {bundled.out} {options}")
        assert (done.code, words in done.stderr) == (2, True), (options, done)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_had_is_said(bundled: Audited, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = bundle(bundled, "C06", BROKEN, "--source", str(elsewhere), "--to", str(path))
    assert done.code == 4
    assert "entry 5:6 cannot be read as the audit read it" in done.stderr
    assert manifest(path)["entries"] == []
    assert len(manifest(path)["left_out"]) == 3
    assert len(json.loads(members(path)["rows/entries.json"])) == 3, "the rows are there all the same"

    other = tmp_path / "other"
    other.mkdir()
    for file in OBJECTS.glob("*-ledger-5"):
        data = bytearray(file.read_bytes())
        data[12584 + 17] ^= 1  # the checksum of 5:6
        (other / file.name).write_bytes(data)
    done = bundle(bundled, "C06", BROKEN, "--source", str(other), "--to", str(tmp_path / "b.zip"))
    assert done.code == 4
    assert "entry 5:6 cannot be read as the audit read it: its length or checksum is another one now" in done.stderr

    few = bundle(bundled, "C06", BROKEN, "--limit", "1", "--to", str(tmp_path / "c.zip"))
    assert few.code == 4
    assert "2 more entries: raise --limit" in few.stderr
    named = bundle(bundled, "C06", BROKEN, "--entry", "5:7", "--to", str(tmp_path / "d.zip"))
    assert named.code == 0
    assert [one["position"] for one in manifest(tmp_path / "d.zip")["entries"]] == ["5:7"]


def test_a_finding_about_no_entry_has_its_rows(bundled: Audited, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    done = typed(f"pulsar-backlog bundle {bundled.out} --finding S33 --to {path}")
    assert done.code == 0, done.stderr
    assert manifest(path)["topic"] is None
    (row,) = json.loads(members(path)["rows/findings.json"])
    assert row["subject"] in {one["subject"] for one in rows_of(bundled.out, "findings") if one["code"] == "S33"}
