"""What each stored thing is to the broker; above all, what is never called needless."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.values import ClusterState, LedgerRecord
from pulsar_backlog.ledgers.stored_objects import Upload
from pulsar_backlog.ledgers.values import LedgerCopy
from pulsar_backlog.reconciliation.compare import reconciled
from pulsar_backlog.reconciliation.findings import Tallies, findings_of_inventory, tallied
from pulsar_backlog.reconciliation.values import Row
from pulsar_backlog.tables import TABLES
from tests.reconciliation.held import OTHER, OURS, TOPIC, copy, earlier, record, state

CONFIRMED = copy(99)
"""A copy that the metadata call complete: so they are this cluster's."""


def look(*copies: LedgerCopy, known: ClusterState | None = None, uploads: tuple[Upload, ...] = ()) -> dict[str, Row]:
    rows = reconciled(copies, uploads, known or state(record()))
    return {f"{row.ledger_id} {row.copy}": row for row in rows}


def tallies(rows: dict[str, Row]) -> Tallies:
    return tallied(row.row("lab") for row in rows.values())


def verdict(found: Row) -> tuple[str, bool, bool]:
    return found.judged.verdict, found.leaks, found.needs_sole_owner


def test_an_earlier_attempt_is_a_leftover_of_a_whole_one() -> None:
    rows = look(copy(), earlier())
    assert verdict(rows[f"7 {OURS}"]) == ("current", False, False)
    assert verdict(rows[f"7 {OTHER}"]) == ("leftover", True, False)
    assert rows[f"7 {OTHER}"].judged.current_copy == OURS
    row = rows[f"7 {OTHER}"].row("lab")
    assert set(row) == set(TABLES["inventory"].column_names())
    assert (row["bytes"], row["objects"]) == (1100, [f"{OTHER}-ledger-7", f"{OTHER}-ledger-7-index"])


def test_uuids_in_other_letters() -> None:
    upper = "ABCDEF00-1111-1111-1111-111111111111"
    rows = look(copy(uuid=upper.lower()), known=state(record(uuid=upper)))
    assert [row.judged.verdict for row in rows.values()] == ["current"]


@pytest.mark.parametrize(
    ("ours", "other", "known", "expected"),
    [
        # The copy that the broker reads is less than whole: the other one may be the last.
        ({"status": "damaged"}, {}, {}, "rescue"),
        ({"index_uri": None}, {}, {}, "rescue"),
        ({"data_uri": None, "status": "unreadable"}, {}, {}, "rescue"),
        ({"faults": ("S06", "S20")}, {}, {}, "rescue"),  # it is not what the broker records
        ({"faults": ("S06", "S07")}, {}, {}, "rescue"),  # the copies promise different things
        # Perhaps another cluster's ledger of the same number, or nobody knows.
        ({}, {"managed_ledger": "lab/s3/persistent/else"}, {}, "doubtful"),
        ({}, {"managed_ledger": None, "index_uri": None}, {}, "doubtful"),
        ({}, {"expected_entries": 11}, {}, "doubtful"),
        ({}, {"expected_bytes": 801}, {}, "doubtful"),
        # Perhaps the newer of two attempts: the metadata's files were not saved at one moment.
        ({}, {"last_written_ms": 5000}, {}, "doubtful"),
        ({}, {"last_written_ms": None}, {}, "doubtful"),
        ({"first_written_ms": None}, {}, {}, "doubtful"),
        # Without an index no broker can have completed it, however new.
        ({}, {"index_uri": None, "last_written_ms": 9000}, {}, "leftover"),
        # The metadata do not call the named attempt complete: either may become it.
        ({}, {}, {"complete": False}, "doubtful"),
        ({}, {}, {"complete": None}, "doubtful"),
        ({}, {}, {"uuid": None}, "undecided"),
        ({}, {}, {"uuid": None, "complete": False}, "doubtful"),
    ],
)
def test_another_attempt(ours: dict[str, Any], other: dict[str, Any], known: dict[str, Any], expected: str) -> None:
    metadata = state(record(**known), record(99))
    rows = look(copy(**ours), earlier(**other), CONFIRMED, known=metadata)
    assert rows[f"7 {OTHER}"].judged.verdict == expected
    assert rows[f"7 {OTHER}"].leaks == (expected == "leftover")
    assert not rows[f"7 {OURS}"].leaks


def test_the_brokers_attempt_is_not_here() -> None:
    rows = look(earlier(status="ok", selected=True), CONFIRMED, known=state(record(), record(99)))
    assert verdict(rows[f"7 {OTHER}"]) == ("rescue", False, False)
    assert verdict(rows[f"7 {OURS}"]) == ("missing", False, False)  # a row that nothing stored stands for
    [finding] = findings_of_inventory(tallies(rows))
    assert (finding.code, finding.evidence, finding.sureness) == ("S30", ("ledger 7",), "certain")
    [unsure] = findings_of_inventory(tallies(rows), listed_whole=False)
    assert unsure.sureness == "cannot_tell"


def test_the_brokers_attempt_is_here_twice() -> None:
    rows = look(copy(), copy(uuid=f"{OURS}#2"), earlier())
    assert [row.judged.verdict for row in rows.values()] == ["current", "current", "rescue"]


def test_the_head_was_cut_off() -> None:
    rows = look(copy(3), CONFIRMED, known=state(record(5), record(99)))
    assert verdict(rows[f"3 {OURS}"]) == ("trimmed", True, False)
    assert verdict(rows[f"5 {OURS}"]) == ("missing", False, False)


@pytest.mark.parametrize(
    ("ledger_id", "changed", "expected"),
    [
        (6, {}, "unlisted"),  # the list goes on behind it: lost metadata, not a trimmed head
        (100, {}, "newer"),
        (3, {"topic": "persistent://lab/s3/else"}, "unknown_topic"),
        (3, {"topic": None}, "undecided"),
        (3, {"pulsar_cluster": "us"}, "other_cluster"),  # of a replicated topic with the same name
        (5, {"topic": "persistent://lab/s3/else"}, "undecided"),  # two clusters' ledger of one number
    ],
)
def test_what_no_list_has_stays(ledger_id: int, changed: dict[str, Any], expected: str) -> None:
    rows = look(copy(ledger_id, **changed), CONFIRMED, known=state(record(5), record(99)))
    found = rows[f"{ledger_id} {OURS}"]
    assert verdict(found) == (expected, False, False)


@pytest.mark.parametrize("head", [{"ledgerId": "3"}, {"ledgerId": -3}, {"entries": 10}, 3, None])
@pytest.mark.parametrize("rest", [{"cursors": {}}, {"lastConfirmedEntry": "9:9"}])
def test_a_list_whose_head_cannot_be_read_was_not_cut(head: object, rest: dict[str, Any], tmp_path: Path) -> None:
    """What was left out of a damaged file is no ledger that the broker deleted."""
    body = {"ledgers": [head, {"ledgerId": 5, "entries": 10}], **rest}
    path = tmp_path / "lab__s3__orders.internal-info.json"
    path.write_text(json.dumps(body))
    damaged = read_cluster_state(tmp_path, {})
    path.write_text(json.dumps(body | {"ledgers": body["ledgers"][1:]}))
    whole = read_cluster_state(tmp_path, {})
    assert verdict(look(copy(3), known=damaged)[f"3 {OURS}"]) == ("undecided", False, False)
    assert verdict(look(copy(3), known=whole)[f"3 {OURS}"])[0] == "trimmed"


def test_two_topics_claim_a_ledger() -> None:
    rows = look(copy(), earlier(), known=state(record(), disputed=frozenset({7})))
    assert {row.judged.verdict for row in rows.values()} == {"undecided"}


@pytest.mark.parametrize("name", ["pulsar_cluster", "confirmed"])
def test_whose_it_is_must_be_known(name: str) -> None:
    """An object that names no cluster may be another one's; metadata that fit nothing here are another one's."""
    if name == "pulsar_cluster":
        rows = look(copy(3, pulsar_cluster=None), CONFIRMED, known=state(record(5), record(99)))
        assert verdict(rows[f"3 {OURS}"]) == ("trimmed", True, True)
    else:
        rows = look(copy(3), known=state(record(5), record(99)))
        assert verdict(rows[f"3 {OURS}"]) == ("trimmed", False, False)


def test_without_metadata_nothing_is_compared() -> None:
    rows = reconciled([copy(), earlier()], [], None)
    assert {verdict(row) for row in rows} == {("undecided", False, False)}


def test_ledgers_that_are_not_stored() -> None:
    open_one = LedgerRecord(9, TOPIC, None, None)
    rows = look(copy(), known=state(record(), record(8, None, False), open_one, record(10, OTHER)))
    assert {key: row.judged.verdict for key, row in rows.items()} == {
        f"7 {OURS}": "current",
        "8 ": "not_offloaded",
        "9 ": "not_offloaded",
        f"10 {OTHER}": "missing",
    }
    assert all(row.kind == "none" for row in rows.values() if row.stored is None)


def test_unfinished_uploads() -> None:
    def upload(uuid: str, ledger_id: int = 7) -> Upload:
        return Upload(f"a/{uuid}-ledger-{ledger_id}", "u1", 4000, 55)

    known = state(record(), record(8, OTHER, False))
    uploads = (upload(OTHER), upload(OURS), upload(OTHER, 8), upload(OTHER, 3), Upload("notes", "u", None, 1))
    rows = look(copy(), known=known, uploads=uploads)
    found = {key: verdict(row) for key, row in rows.items() if row.kind == "upload"}
    assert found == {
        f"7 {OTHER} data u1": ("leftover", True, True),
        f"7 {OURS} data u1": ("doubtful", False, False),
        f"8 {OTHER} data u1": ("doubtful", False, False),  # it may be going on right now
        f"3 {OTHER} data u1": ("undecided", False, False),
    }
    row = rows[f"7 {OTHER} data u1"].row("lab")
    assert (row["bytes"], row["upload_id"], row["objects"]) == (55, "u1", [f"a/{OTHER}-ledger-7"])


def test_findings_add_up() -> None:
    stray = copy(6)
    alone = replace(copy(2), topic="persistent://lab/s3/else")
    rows = look(copy(), earlier(), copy(3), stray, alone, known=state(record(5), record()))
    found = {finding.code: finding for finding in findings_of_inventory(tallies(rows))}
    assert sorted(found) == ["S31", "S32", "S33"]
    assert (found["S31"].count, "2,200 bytes" in found["S31"].message) == (2, True)
    assert (found["S32"].subject, found["S32"].evidence) == (TOPIC, ("ledger 6",))
    assert found["S33"].count == 1


def test_the_ledger_of_a_compacted_view() -> None:
    """Named by the topic's cursor of compaction; it is on no topic's list of ledgers, whatever is stored of it."""
    known = state(record())
    named = replace(known.topics[TOPIC], compacted_ledger_id=3)
    compacted = ClusterState({TOPIC: named}, frozenset(), ())
    absent = look(copy(), known=compacted)["3 "]
    assert (absent.judged.verdict, absent.topic, absent.kind) == ("compacted", TOPIC, "none")
    held = look(copy(), copy(3), known=compacted)
    assert verdict(held[f"3 {OURS}"]) == ("compacted", False, False)
    assert "3 " not in held


@pytest.mark.parametrize("kind", ["bookies", "live"])
@pytest.mark.parametrize(("ledger_id", "expected"), [(7, "current"), (3, None), (8, None)])
def test_what_bookkeeper_holds_is_never_on_a_list(ledger_id: int, expected: str | None, kind: Any) -> None:
    """Whatever the offloaded copies are: an entry log holds other ledgers too, and a broker's ledger is no object."""
    bookies = copy(ledger_id, "bookies", kind=kind, managed_ledger="lab/s3/persistent/orders", data_uri="0.log")
    rows = look(copy(), CONFIRMED, bookies, known=state(record(5), record(), record(8, None, False), record(99)))
    found = rows[f"{ledger_id} bookies"]
    assert verdict(found) == ("bookkeeper", False, False)
    assert (found.row("lab")["objects"], found.row("lab")["bytes"]) == ([], 0)
    assert [row.judged.verdict for row in rows.values() if row.ledger_id == ledger_id and row.kind == "jcloud"] == (
        [expected] if expected else []
    )
    assert not any(row.judged.verdict == "not_offloaded" for row in rows.values() if row.ledger_id == ledger_id)
