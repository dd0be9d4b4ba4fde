"""One whole audit of a broker's MapFiles, told to read a tenth of each topic: its verdict names what it did not see."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.ledgers.entry_batch import Place
from pulsar_backlog.ledgers.places import BlockOpener
from pulsar_backlog.ledgers.store import open_source
from tests.auditing import DATA, Audited, run_audit

NEEDS_SPARK = True

MAP_FILES = DATA / "mapfiles"
ENTRIES = {31: 2, 71: 8, 72: 3, 85: 14, 186: 4, 194: 4, 266: 78}
"""By ledger, as PROVENANCE.md has them; 261 is the older ledger of a topic whose newer one is more than a tenth."""
MANY = "persistent://lab/fs/map-many"


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    return run_audit(
        MAP_FILES / "source", tmp_path_factory.mktemp("mapfiles"), admin=MAP_FILES / "admin", sample="10%",
        fail_on="never",
    )  # fmt: skip


def test_the_verdict_says_what_was_not_seen(audited: Audited) -> None:
    assert audited.exit_code == 4, audited.stderr
    assert audited.result["exit_code"] == 4
    said = json.dumps(audited.result["verdict"])
    assert "1 ledger left unread on purpose" in said
    assert "What was not read may hold more." in said
    assert "1 ledger left unread on purpose" in audited.stdout
    assert "left unread on purpose" in (audited.out / "report.html").read_text()
    (left,) = [row for row in audited.rows("findings") if row["code"] == "S29"]
    assert (left["topic"], left["count"], left["evidence"]) == (MANY, 1, ["ledger:261"])
    failed = {row["rule"] for row in audited.rows("quality_results") if not row["passed"]}
    assert failed == {"audit_source_readable", "audit_no_error_findings"}


def test_every_entry_of_the_rest(audited: Audited) -> None:
    assert Counter(row["ledger_id"] for row in audited.rows("entries", "ledger_id")) == ENTRIES
    scans = audited.rows("scans")
    assert {row["ledger_id"]: row["decoded"] for row in scans} == ENTRIES
    assert not any(row["rejected"] or row["structure_faults"] for row in scans)
    assert {row["kind"] for row in audited.rows("ledgers", "kind")} == {"filesystem"}


def test_messages_lead_back_to_the_bytes(audited: Audited) -> None:
    messages = audited.rows("chunked_messages")
    assert {(row["topic"], row["state"]) for row in messages} == {
        ("persistent://lab/fs/py-chunk-lz4", "whole"), ("persistent://lab/fs/py-enc-chunk", "whole"),
        (MANY, "whole"), (MANY, "headless"),
    }  # fmt: skip
    (headless,) = [row for row in messages if row["state"] == "headless"]
    assert headless["sureness"] == "cannot_tell"  # it may begin in the ledger that was left unread
    opener = BlockOpener(open_source(str(MAP_FILES / "source")))
    stored = {
        (ledger_id, found["entry_id"]): found["sha256"]
        for ledger_id in (186, 194)
        for found in json.loads((MAP_FILES / "expected" / "entries" / f"{ledger_id}.json").read_text())["entries"]
    }
    manifests = [part for row in messages if row["topic"] != MANY for part in row["manifest"]]
    assert {part["ledger_id"] for part in manifests} == {186, 194}
    assert {(part["ledger_id"], part["entry_id"]) for part in manifests} <= stored.keys()  # others are no chunks
    for row in audited.rows("entries"):
        if (at := (row["ledger_id"], row["entry_id"])) in stored:
            place = Place(row["uri"], row["offset"], row["length"], row["inner_offset"], row["block_length"])
            assert sha256(opener.read(place).tobytes()).hexdigest() == stored[at]
