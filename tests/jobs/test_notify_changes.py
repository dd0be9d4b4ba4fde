"""Messages about what changed: one a night, to a real receiver on loopback, none where nothing changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.output.notifications import VARIABLE
from tests.auditing import copy_ledgers, data_object, index_object, run_audit
from tests.webhook import SECRET, Receiver, receiver

NEEDS_SPARK = True

__all__ = ["receiver"]

BROKEN, HEALTHY = 5, 267


def test_one_message_a_night_with_what_is_new_and_what_is_gone(
    spark: SparkSession, tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    source = copy_ledgers(tmp_path / "source", [HEALTHY])
    monkeypatch.setenv(VARIABLE, f"{receiver.address}\n")
    assert run_audit(source, out).exit_code == 0
    assert receiver.messages == [], "nothing is wrong"

    copy_ledgers(source, [BROKEN])
    url = "https://reports.example/night"
    broken = run_audit(source, out, report_url=url)
    assert broken.exit_code == 1
    assert len(receiver.messages) == 1, broken.stderr
    (message,) = receiver.messages
    assert message["title"].startswith("pulsar-backlog default: ")
    assert " new" in message["title"]
    assert "new: error C" in message["message"]
    assert message["message"].endswith(f"Report: {url}")
    written = [path.read_bytes() for path in out.rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in text for text in (*written, (broken.stdout + broken.stderr).encode()))

    assert run_audit(source, out).exit_code == 1  # nothing new to do
    assert len(receiver.messages) == 1, "it was told before"

    data_object(source, BROKEN).unlink()
    index_object(source, BROKEN).unlink()
    run_audit(source, out)
    assert "gone with their data" in receiver.messages[-1]["title"]
    assert "healed" not in receiver.messages[-1]["title"]
    assert len(receiver.messages) == 2


def test_a_message_that_nobody_took_is_sent_by_the_next_audit(
    spark: SparkSession, tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    source = copy_ledgers(tmp_path / "source", [BROKEN])
    monkeypatch.setenv(VARIABLE, receiver.address)
    receiver.status = 500
    failed = run_audit(source, out, fail_on="never")
    assert failed.exit_code == 2
    assert f"no address in {VARIABLE} took the message" in failed.stderr
    assert SECRET not in failed.stderr
    assert failed.result["state"] == "finished", "the report is there all the same"
    receiver.status = 200
    assert run_audit(source, out, fail_on="never").exit_code == 0
    assert len(receiver.messages) == 1


def test_an_address_of_no_service_is_told_by_its_number(
    spark: SparkSession, tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, f"{receiver.address} nothing://{SECRET}")
    failed = run_audit(copy_ledgers(tmp_path / "source", [BROKEN]), tmp_path / "out", fail_on="never")
    assert failed.exit_code == 2
    assert f"address 2 of {VARIABLE} is none that apprise knows" in failed.stderr
    assert SECRET not in failed.stderr
    assert receiver.messages == []
