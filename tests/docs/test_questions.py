"""The examples of docs/questions.md that are SQL over an export, run as they stand on small ones."""

from __future__ import annotations

import hashlib
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pulsar_backlog.cli import run_cli
from tests.docs.shell_examples import ROOT, Example
from tests.small_tables import write_tables

NEEDS_SPARK = True

PAYLOADS = (
    b'{"customer": "ada", "total": 12.5, "items": [{"sku": "nut", "count": 2}, {"sku": "bolt", "count": 1}]}',
    b'{"customer": "bob", "total": 3, "items": []}',
    b'{"customer": "ada", "total": 7.25, "items": [{"sku": "nut", "count": 4}]}',
    b'{"customer": "eve"',  # cut short by its producer
    b"\xff\xfe",
)
KEYS = ("k-7", "k-8", "k-7", "k-9", "k-9")


PAYLOADS_AND_JSON, WHO_SENT_WHAT = "Payloads and JSON", "Who sent what"
ORDERS = "persistent://shop/eu/orders"
NINE = datetime(2026, 11, 21, 9, 58, tzinfo=UTC)
SENT = (
    # key, minutes after, producer, sequence id, milliseconds to the broker, payload
    ("k-7", 0, "web-1", 0, 12, b"nut"),
    ("k-8", 1, "web-1", 1, 9, b"bolt, 20"),
    ("k-7", 3, "web-1", 4, 30, b"nut"),  # two are missing, and the content was there before
    ("k-9", 5, "web-2", 0, -4, b"gear"),  # a clock that is ahead
    (None, 6, "web-2", 1, 5, b"no key"),
    ("k-8", 65, "web-2", 2, 7, b""),  # a tombstone
)
STORED = (
    # topic, bytes of the entry and of its payload, before compression, codec, messages of a batch, chunk
    (ORDERS, 700, 600, 2400, "LZ4", 20, None),
    (ORDERS, 500, 400, 1600, "LZ4", 10, None),
    (ORDERS, 90, 40, None, None, None, None),
    ("persistent://shop/eu/media", 5100, 5000, 9000, "ZSTD", None, 0),
    ("persistent://shop/eu/media", 4100, 4000, 9000, "ZSTD", None, 1),
    ("persistent://shop/eu/media", 300, 200, 300, "ZSTD", None, None),
)


def shown(title: str) -> list[tuple[str, str]]:
    """Commands of one of the page's sections, each with what the page shows below it."""
    page = (ROOT / "docs/questions.md").read_text()
    (section,) = re.findall(rf"^## {title}$(.*?)^## ", page, re.M | re.S)
    found = []
    for block in re.findall(r"^```\n(.*?)^```$", section, re.M | re.S):
        commands, _, output = block.partition("\n\n")
        found += [(command, output) for command in commands.splitlines() if " sql " in command]
    return found


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    messages = [
        {
            "topic": ORDERS,
            "ledger_id": 24,
            "entry_id": at,
            "partition_key": key,
            "payload": payload,
            "producer_name": f"web-{1 + at // 3}",
            "properties": {"tenant": "blue"} if key == "k-7" else None,
        }
        for at, (key, payload) in enumerate(zip(KEYS, PAYLOADS, strict=True))
    ]
    return write_tables(tmp_path_factory.mktemp("questions") / "audit", runs=[], messages=messages)


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    messages = []
    for at, (key, minutes, producer, sequence_id, late_ms, payload) in enumerate(SENT):
        time = NINE + timedelta(minutes=minutes)
        messages.append({
            "topic": ORDERS, "ledger_id": 24 + at // 4, "entry_id": at % 4, "batch_index": -1, "partition_key": key,
            "producer_name": producer, "sequence_id": sequence_id, "publish_time": time,
            "publish_time_ms": int(time.timestamp() * 1000), "broker_timestamp": time + timedelta(milliseconds=late_ms),
            "payload": payload, "payload_bytes": len(payload), "payload_sha256": hashlib.sha256(payload).hexdigest(),
        })  # fmt: skip
    names = (
        "topic", "length", "payload_length", "uncompressed_size", "compression", "num_messages_in_batch", "chunk_id",
    )  # fmt: skip
    entries = [{**dict(zip(names, row, strict=True)), "ledger_id": 24, "entry_id": at} for at, row in enumerate(STORED)]
    folder = tmp_path_factory.mktemp("sent") / "audit"
    return write_tables(folder, runs=[], messages=messages, entries=entries)


def answer(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, *more: str
) -> str:
    monkeypatch.chdir(folder.parent)
    monkeypatch.setattr(sys, "argv", [*Example("questions.md", command).words, *more])
    with pytest.raises(SystemExit) as ended:
        run_cli()
    said = capsys.readouterr()
    assert not ended.value.code, said.err
    return said.out


def test_the_page_has_examples() -> None:
    for title, least in ((PAYLOADS_AND_JSON, 6), (WHO_SENT_WHAT, 9)):
        assert len(shown(title)) >= least
        assert all(output for _, output in shown(title))


@pytest.mark.parametrize(
    ("command", "output"), shown(PAYLOADS_AND_JSON), ids=[command[-60:] for command, _ in shown(PAYLOADS_AND_JSON)]
)
def test_an_example_answers_what_the_page_shows(
    spark: object,
    audit: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    output: str,
) -> None:
    assert answer(audit, monkeypatch, capsys, command) == output


@pytest.mark.parametrize(
    ("command", "output"), shown(WHO_SENT_WHAT), ids=[command[-60:] for command, _ in shown(WHO_SENT_WHAT)]
)
def test_both_engines_answer_what_the_page_shows(
    spark: object,
    sent: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    output: str,
) -> None:
    assert answer(sent, monkeypatch, capsys, command) == output
    assert answer(sent, monkeypatch, capsys, command, "--engine", "spark") == output
