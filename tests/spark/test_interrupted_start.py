"""Ctrl-C while Java starts: Java must not outlive the program, though it has nobody yet who would end it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkConf, SparkContext, java_gateway

from pulsar_backlog.spark import session


@pytest.fixture(autouse=True)
def handler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The handler of this run is put back."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(SparkContext, "_ensure_initialized", lambda **_: None)
    yield
    signal.signal(signal.SIGINT, before)


def started_by(commands: list[str], monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """What was started for a JVM, before Ctrl-C and after it."""
    started: list[subprocess.Popen[bytes]] = []

    def launch(*_: object) -> Any:
        for command in commands:
            if command == "Ctrl-C":
                os.kill(os.getpid(), signal.SIGINT)
            else:
                started.append(java_gateway.Popen(command.split()))
        time.sleep(60)  # until Java says where it listens

    monkeypatch.setattr(session, "launch_gateway", launch)
    with pytest.raises(KeyboardInterrupt):
        session._start_java(SparkConf(loadDefaults=False))
    return started


def test_java_ends_with_the_program_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.monotonic()
    (java,) = started_by(["sleep 60", "Ctrl-C"], monkeypatch)
    assert java.wait(10) == -signal.SIGKILL
    assert time.monotonic() - began < 2
    assert java_gateway.Popen is subprocess.Popen


def test_java_that_is_being_forked_is_ended_as_soon_as_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    before = running_children()
    assert started_by(["Ctrl-C", "sleep 60"], monkeypatch) == []
    deadline = time.monotonic() + 5
    while running_children() - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert running_children() <= before


def running_children() -> set[str]:
    """Process ids of this process's children that have not ended."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    states = {child: Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] for child in children}
    return {child for child, state in states.items() if state != "Z"}
