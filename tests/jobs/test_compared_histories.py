"""`compare` of an audit with an older one of its cluster, of a topic made again, of a backup: planted differences."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.commands.compare import run_compare
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.repair.rebuilding.content import take_content
from pulsar_backlog.terms import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE
from tests.auditing import data_object, index_object, rows_of, run_audit
from tests.ledgers.encoding import offload
from tests.ledgers.sources import put
from tests.replicas.logs import Message, batch, chunks, damaged, sent, single, store

NEEDS_SPARK = True

MESSAGES = sent(30)
LATER = Message(1, b"later", producer="eu-large", time_ms=MESSAGES[25].at_ms)
LARGE = Message(0, bytes(3000), producer="eu-large", time_ms=MESSAGES[12].at_ms)
ORDERS = "persistent://shop/eu/orders"
AGAIN = "persistent://shop/eu/orders-again"


def log() -> list[list[bytes]]:
    """Three ledgers: single messages, a batch, a message of chunks."""
    return [
        [single(one) for one in MESSAGES[:10]],
        [batch(MESSAGES[10:14]), *chunks(LARGE, 3), *[single(one) for one in MESSAGES[14:20]]],
        [single(one) for one in (*MESSAGES[20:], LATER)],
    ]


def put_ledger(folder: Path, ledger_id: int, entries: list[bytes], name: str = "orders") -> None:
    put(folder, offload(entries, managed_ledger=f"shop/eu/persistent/{quote_plus(name)}"), ledger_id)


def compared(a: Path, b: Path, out: Path, **options: Any) -> tuple[int, set[tuple[str, str, str, int]]]:
    """Exit code, and each difference: kind, side, producer and sequence id."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = run_compare(str(a), str(b), {"out": str(out), **options})
    names = ("kind", "side", "producer_name", "sequence_id")
    return code, {tuple(row[name] for name in names) for row in rows_of(out, "differences")}  # type: ignore[misc]


def verdicts(out: Path) -> dict[str, str]:
    return {row["topic"]: row["verdict"] for row in rows_of(out, "compared_topics", "topic", "verdict")}


Audit = Callable[[Path], Path]


@pytest.fixture
def audit(spark: SparkSession, tmp_path: Path) -> Iterator[Audit]:
    """Audits a folder into tables of its own."""
    numbers = iter(range(10))

    def taken(folder: Path) -> Path:
        return run_audit(folder, tmp_path / f"audit-{next(numbers)}", cluster="eu").out

    yield taken


def test_history_that_did_not_change(audit: Audit, tmp_path: Path) -> None:
    """What was added since is on its way to the older audit, as far as anybody can tell."""
    source = store(tmp_path / "objects", {"orders": log()[:2]})
    older = audit(source)
    put_ledger(source, 12, log()[2])
    newer = audit(source)
    code, found = compared(older, newer, tmp_path / "out")
    later = {("in_flight", "a", "eu-1", number) for number in range(20, 30)}
    assert found == later | {("in_flight", "a", "eu-large", 1)}
    assert (code, verdicts(tmp_path / "out")) == (EXIT_CLEAN, {ORDERS: "explained"})


def test_history_that_changed(audit: Audit, tmp_path: Path) -> None:
    """Digests were made the night before; then a ledger was written again: without a message, with another changed."""
    source = store(tmp_path / "objects", {"orders": log()})
    older = audit(source)
    out = tmp_path / "out"
    assert compared(older, older, out) == (EXIT_CLEAN, set())
    changed = [
        single(one) for one in (*MESSAGES[:4], *MESSAGES[5:7], replace(MESSAGES[7], payload=b"other"), *MESSAGES[8:10])
    ]
    put_ledger(source, 10, changed)
    newer = audit(source)
    code, found = compared(older, newer, out)
    assert found == {("missing", "b", "eu-1", 4), ("content", "both", "eu-1", 7)}
    assert (code, verdicts(out)) == (EXIT_FINDINGS, {ORDERS: "differs"})


def test_a_ledger_that_was_written_again_and_never_digested_is_not_called_equal(audit: Audit, tmp_path: Path) -> None:
    source = store(tmp_path / "objects", {"orders": log()})
    older = audit(source)
    put_ledger(source, 10, [single(one) for one in (*MESSAGES[:4], *MESSAGES[5:10])])
    newer = audit(source)
    out = tmp_path / "out"
    code, found = compared(older, newer, out)
    assert code == EXIT_INCOMPLETE
    assert found == {("policy", "a", "eu-1", number) for number in range(10) if number != 4}
    assert verdicts(out) == {ORDERS: "cannot_tell"}
    findings = {row["code"]: row["evidence"] for row in rows_of(out, "findings")}
    assert (findings["D09"], findings["D10"]) == (["ledger:10"], ["a ledger:10"])


def test_a_topic_that_was_made_again(audit: Audit, tmp_path: Path) -> None:
    """As rebuild-topic publishes it, in ledgers that end elsewhere: equal, and then with what was planted."""
    source = store(tmp_path / "objects", {"orders": log()})
    entries = [one.data for one in take_content(open_source(str(source)), None, Scope(topics=(ORDERS,))).sendables()]
    assert len(entries) == sum(map(len, log()))
    for ledger_id, part in ((50, entries[:17]), (51, entries[17:])):
        put_ledger(source, ledger_id, part, "orders-again")
    planted = [*entries[:3], *entries[4:11], *entries[12:20], entries[21], entries[20], *entries[22:], entries[2]]
    put_ledger(source, 60, planted, "orders-bad")
    out = audit(source)
    pair = (f"{ORDERS}={AGAIN}",)
    assert compared(out, out, tmp_path / "good", map_topic=pair) == (EXIT_CLEAN, set())
    assert verdicts(tmp_path / "good") == {ORDERS: "equal"}
    pair = (f"{ORDERS}=persistent://shop/eu/orders-bad",)
    code, found = compared(out, out, tmp_path / "bad", map_topic=pair)
    # the twelfth entry is the first of three chunks; entries 20 and 21 hold the messages 20 and 21
    swapped = found & {("order", "both", "eu-1", 20), ("order", "both", "eu-1", 21)}
    assert len(swapped) == 1
    assert found - swapped == {
        ("missing", "b", "eu-1", 3), ("broken", "b", "eu-large", 0), ("duplicate", "b", "eu-1", 2),
    }  # fmt: skip
    assert code == EXIT_FINDINGS


def test_a_backup(audit: Audit, tmp_path: Path) -> None:
    """The same objects in another place: equal; with a damaged entry, and without a ledger in the middle, it is not."""
    source = store(tmp_path / "objects", {"orders": log(), "other": [[single(one) for one in sent(5)]]})
    backup = tmp_path / "backup"
    shutil.copytree(source, backup)
    live = audit(source)
    assert compared(live, audit(backup), tmp_path / "whole") == (EXIT_CLEAN, set())
    assert set(verdicts(tmp_path / "whole").values()) == {"equal"}
    broken = log()[0]
    broken[6] = damaged(broken[6])
    put_ledger(backup, 10, broken)
    for of_ledger in (data_object, index_object):
        of_ledger(backup, 11).unlink()
        of_ledger(backup, 13).unlink()
    code, found = compared(live, audit(backup), tmp_path / "bad")
    rows = {(row["topic"], row["kind"], row["side"], row["sequence_id"]): row["sureness"]
            for row in rows_of(tmp_path / "bad", "differences")}  # fmt: skip
    assert code == EXIT_FINDINGS
    assert rows.pop((ORDERS, "broken", "b", 6)) == "likely"
    of_other = {key: rows.pop(key) for key in list(rows) if key[0] != ORDERS}
    assert set(of_other.values()) == {"cannot_tell"}  # the backup knows nothing of the topic
    assert {number for _, _, _, number in of_other} == set(range(5))
    assert set(rows) == {*((ORDERS, "missing", "b", number) for number in range(10, 20)), (ORDERS, "missing", "b", 0)}
    assert ("missing", "b", "eu-large", 0) in found
