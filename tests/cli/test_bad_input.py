"""One audit of a folder where every ledger but one is damaged: each costs its finding, and the rest is all there."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.auditing import EXPECTED, Audited, data_object, run_audit
from tests.cli import damaged as d
from tests.ledgers.encoding import UUID

NEEDS_SPARK = True


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return d.make(tmp_path_factory.mktemp("damaged") / "objects")


@pytest.fixture(scope="module")
def audited(spark: SparkSession, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    return run_audit(folder, tmp_path_factory.mktemp("damaged-out"), cluster="damaged")


def codes_of(audited: Audited, ledger_id: int) -> set[str]:
    """Findings of inventory and scan that name the ledger."""
    rows = audited.rows("findings", "code", "ledger_id")
    return {row["code"] for row in rows if row["ledger_id"] == ledger_id and row["code"][0] in "SE"}


def rejects_of(audited: Audited, ledger_id: int) -> list[tuple[str, int]]:
    rows = audited.rows("rejects", "code", "entry_id", "ledger_id")
    return sorted((row["code"], row["entry_id"]) for row in rows if row["ledger_id"] == ledger_id)


def entries_of(audited: Audited, ledger_id: int) -> list[int]:
    rows = audited.rows("entries", "ledger_id", "entry_id")
    return [row["entry_id"] for row in rows if row["ledger_id"] == ledger_id]


def test_the_audit_ends_with_findings(audited: Audited) -> None:
    assert audited.exit_code in (1, 4)
    assert audited.result["exit_code"] == audited.exit_code
    assert "Traceback" not in audited.stderr


def test_the_healthy_ledger_is_all_there(audited: Audited, folder: Path) -> None:
    held = json.loads((EXPECTED / "entries" / f"{d.HEALTHY}.json").read_text())["entries"]
    data = data_object(folder, d.HEALTHY).read_bytes()
    rows = [row for row in audited.rows("entries") if row["ledger_id"] == d.HEALTHY]
    assert [hashlib.sha256(data[row["offset"] :][: row["length"]]).hexdigest() for row in rows] == [
        e["sha256"] for e in held
    ]
    assert codes_of(audited, d.HEALTHY) == set()
    whole = [row for row in audited.rows("chunked_messages") if row["ledgers"] == [d.HEALTHY]]
    assert {row["state"] for row in whole} == {"whole"}
    assert {row["decode_state"] for row in whole} == {"ok"}


@pytest.mark.parametrize(
    ("ledger_id", "codes", "rejects", "entries"),
    [
        # the topic is gone with the index; the blocks are found by their headers
        (d.EMPTY_INDEX, {"S08", "S18"}, [], 7),
        (d.NO_DATA, {"S04"}, [], 0),
        (d.NO_INDEX, {"S05", "S18"}, [], 8),
        (d.TWICE, {"S06"}, [], 14),
        (d.TRUNCATED, {"S10", "S12", "S13"}, None, 6),
        (d.LENGTHENED, {"S11"}, [], 14),
        (d.BAD_MAGIC, {"S12"}, [("block_bad_magic", -1)], 9),
        (d.BLOCK_GAP, {"S12", "S13"}, [("block_entry_count", -1)], 5),
        (d.HOSTILE_LENGTH, {"S12", "S13"}, [("block_entry_count", -1), ("entry_overruns_block", -1)], 2),
        (d.FLIPPED_PAYLOAD, {"E01"}, [], 8),
        (d.FLIPPED_METADATA, {"E02"}, [("metadata_undecodable", 3)], 5),
        (d.ZERO_BYTES, {"E02"}, [("entry_too_short", 1)], 2),
        (d.NEWER, {"E03"}, [], 2),
    ],
)
def test_each_damage_has_its_finding_and_rejects(
    audited: Audited, ledger_id: int, codes: set[str], rejects: list[tuple[str, int]] | None, entries: int
) -> None:
    assert len(entries_of(audited, ledger_id)) == entries
    found = rejects_of(audited, ledger_id)
    if rejects is not None:
        assert found == rejects
    else:
        assert found
    assert codes <= codes_of(audited, ledger_id), (codes_of(audited, ledger_id), found)


def test_what_is_no_ledger_is_counted_and_cannot_steer_a_terminal(audited: Audited) -> None:
    assert UUID in audited.codes()["S05"]  # an object of streaming offload without index or block
    (foreign,) = [row for row in audited.rows("findings") if row["code"] == "S03"]
    assert foreign["count"] == 2
    assert "README.txt" in foreign["evidence"]
    assert all(text.isprintable() for row in audited.rows("findings") for text in [row["message"], *row["evidence"]])


def test_nothing_that_people_sent_is_passed_on(audited: Audited) -> None:
    assert len(entries_of(audited, d.SECRETS)) == 3
    assert "E02" in codes_of(audited, d.SECRETS)
    files = [audited.out / "report.html", audited.out / "result.json", *(audited.out / "data_docs").rglob("*.*")]
    passed = [path.read_text(errors="replace") for path in files if path.is_file()]
    passed += [audited.stdout, audited.stderr]
    passed += [
        str(audited.rows(name))
        for name in ("findings", "quality_results", "chunked_messages", "chunks", "runs", "ledgers")
    ]
    assert not [text[:60] for text in passed if "qzx" in text]


def test_entries_in_are_decoded_and_rejected(audited: Audited) -> None:
    decoded = Counter(row["ledger_id"] for row in audited.rows("entries", "ledger_id"))
    rejected = Counter(row["ledger_id"] for row in audited.rows("rejects") if row["scope"] == "entry")
    faults = Counter(row["ledger_id"] for row in audited.rows("rejects") if row["scope"] == "structure")
    books = audited.rows("scans")
    assert len(books) == 14  # all but the one without data
    for row in books:
        ledger_id = row["ledger_id"]
        assert row["frames"] == row["decoded"] + row["rejected"]
        assert (row["decoded"], row["rejected"]) == (decoded[ledger_id], rejected[ledger_id])
        assert row["structure_faults"] <= faults[ledger_id]


def test_the_rules_that_say_nothing_is_lost_still_pass(audited: Audited) -> None:
    failed = {row["rule"] for row in audited.rows("quality_results") if not row["passed"]}
    assert not failed & {
        "ledger_frames_accounted_for", "ledger_decoded_in_entries", "ledger_rejected_in_rejects",
        "audit_entries_stored", "audit_rejects_stored", "topic_chunk_entries_in_chunks", "topic_chunks_in_messages",
    }  # fmt: skip
    assert {"ledger_checksums", "ledger_complete", "ledger_structure"} <= failed


def test_an_empty_folder_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    audited = run_audit(tmp_path / "empty", tmp_path / "out")
    assert audited.exit_code == 2
    (said,) = [line for line in audited.stderr.splitlines() if not line.startswith("[")]
    assert f"{tmp_path / 'empty'} is empty: " in said
    assert not (tmp_path / "out" / "tables").exists()


def test_a_missing_folder_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    audited = run_audit(tmp_path / "nowhere", tmp_path / "out")
    assert audited.exit_code == 2
    (said,) = [line for line in audited.stderr.splitlines() if not line.startswith("[")]
    assert f"'{tmp_path / 'nowhere'}' is not a folder" in said
    assert not (tmp_path / "out").exists()
