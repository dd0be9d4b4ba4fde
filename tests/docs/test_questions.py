"""The examples of docs/questions.md on payloads and JSON, run as they stand on an export of five messages."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from pulsar_backlog.cli import run_cli
from tests.docs.shell_examples import ROOT, Example
from tests.small_tables import write_tables

PAYLOADS = (
    b'{"customer": "ada", "total": 12.5, "items": [{"sku": "nut", "count": 2}, {"sku": "bolt", "count": 1}]}',
    b'{"customer": "bob", "total": 3, "items": []}',
    b'{"customer": "ada", "total": 7.25, "items": [{"sku": "nut", "count": 4}]}',
    b'{"customer": "eve"',  # cut short by its producer
    b"\xff\xfe",
)
KEYS = ("k-7", "k-8", "k-7", "k-9", "k-9")


def shown() -> list[tuple[str, str]]:
    """Commands of the page's section, each with what the page shows below it."""
    (section,) = re.findall(r"^## Payloads and JSON$(.*?)^## ", (ROOT / "docs/questions.md").read_text(), re.M | re.S)
    found = []
    for block in re.findall(r"^```\n(.*?)^```$", section, re.M | re.S):
        commands, _, output = block.partition("\n\n")
        found += [(command, output) for command in commands.splitlines() if " sql " in command]
    return found


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    messages = [
        {
            "topic": "persistent://shop/eu/orders",
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


def test_the_page_has_examples() -> None:
    assert len(shown()) >= 6
    assert all(output for _, output in shown())


@pytest.mark.parametrize(("command", "output"), shown(), ids=[command[-60:] for command, _ in shown()])
def test_an_example_answers_what_the_page_shows(
    spark: object,
    audit: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    output: str,
) -> None:
    monkeypatch.chdir(audit.parent)
    monkeypatch.setattr(sys, "argv", Example("questions.md", command).words)
    with pytest.raises(SystemExit) as ended:
        run_cli()
    said = capsys.readouterr()
    assert not ended.value.code, said.err
    assert said.out == output
