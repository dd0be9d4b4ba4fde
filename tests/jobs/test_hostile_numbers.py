"""Numbers that no producer or broker should write, in chunks whose checksums are right: the whole audit goes on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.auditing import Audited, run_audit
from tests.ledgers.encoding import offload
from tests.wire.encode import entry, number, run

NEEDS_SPARK = True

NOON_MS = 1_795_262_400_000
LARGEST = 2**63 - 1


def chunks(
    publish_time: int = NOON_MS, indexes: Iterable[int] = (0, 1), total: int = 20, *, broker: bool = True
) -> list[bytes]:
    """A message of two chunks of ten bytes, with what the broker knows of them or without."""
    return [
        entry(
            b"".join((
                run(1, b"p"), number(2, 0), number(3, publish_time), run(26, b"p-0"), number(27, 2), number(28, total),
                number(29, chunk_id),
            )),
            b"0123456789",
            broker=number(1, NOON_MS + chunk_id) + number(2, index) if broker else None,
        )
        for chunk_id, index in enumerate(indexes)
    ]  # fmt: skip


TOPICS: dict[str, list[bytes]] = {
    "healthy": chunks(),
    "microseconds": chunks(NOON_MS * 1000),
    "nanoseconds": chunks(NOON_MS * 1_000_000),
    "the-last-time": chunks(LARGEST),
    "the-last-times": [*chunks(LARGEST), *chunks(LARGEST - 1, (2, 3))],
    # a headless chunk is asked for again and again, by a clock that stands at the end of time
    "the-end-of-time": [chunks(broker=False)[1], *chunks(LARGEST, broker=False)],
    "index-beyond": chunks(indexes=(0, 2**63)),
    "indexes-far-apart": [*chunks(indexes=(LARGEST, 2**63)), *chunks(NOON_MS + 9, indexes=(LARGEST, 0))],
    "a-wrong-total": chunks(total=2**31 - 1),
}


@pytest.fixture(scope="module")
def audited(spark: object, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    source = tmp_path_factory.mktemp("source")
    for ledger_id, (topic, entries) in enumerate(TOPICS.items(), start=1):
        stored = offload(entries, managed_ledger=f"t/n/persistent/{topic}")
        path = source / f"0f8fad5b-d9cb-469f-a165-{ledger_id:012d}-ledger-{ledger_id}"
        path.write_bytes(stored.data)
        Path(f"{path}-index").write_bytes(stored.index)
    return run_audit(source, tmp_path_factory.mktemp("out"), cluster="c", fail_on="never")


def test_every_job_ends_well(audited: Audited) -> None:
    assert audited.exit_code == 0, audited.stderr[-2000:]
    assert (audited.out / "report.html").is_file()


@pytest.mark.parametrize("topic", TOPICS)
def test_nothing_is_lost(audited: Audited, topic: str) -> None:
    name = f"persistent://t/n/{topic}"
    stored = [row for row in audited.rows("entries", "topic", "entry_id") if row["topic"] == name]
    assert len(stored) == len(TOPICS[topic])
    messages = [row for row in audited.rows("chunked_messages") if row["topic"] == name]
    assert sum(row["copies"] for row in messages) == len(stored)


def test_each_is_told(audited: Audited) -> None:
    told: dict[str, set[str]] = {}
    for row in audited.rows("findings", "code", "topic"):
        told.setdefault(str(row["topic"]).rpartition("/")[2], set()).add(row["code"])
    for topic in ("microseconds", "nanoseconds", "the-last-time", "the-last-times", "the-end-of-time"):
        assert "E04" in told[topic], (topic, told)
    assert "B02" in told["index-beyond"], told
    assert "B02" in told["indexes-far-apart"], told


def test_the_healthy_neighbour_is_healthy(audited: Audited) -> None:
    rows: list[dict[str, Any]] = [row for row in audited.rows("chunked_messages") if row["topic"].endswith("/healthy")]
    assert [(row["state"], row["rebuildable"], row["flags"]) for row in rows] == [("whole", True, [])]
