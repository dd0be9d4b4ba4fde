"""Ctrl-C while Java starts: Java must not outlive the program, though it has nobody yet who would end it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import SparkConf, SparkContext

from pulsar_backlog.storage import session


@pytest.fixture
def java() -> Iterator[subprocess.Popen[bytes]]:
    """What stands for the JVM: a process that does not end by itself."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


@pytest.fixture(autouse=True)
def handler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The handler of this run is put back."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(SparkContext, "_ensure_initialized", lambda **_: None)
    yield
    signal.signal(signal.SIGINT, before)


def started_by(java: subprocess.Popen[bytes], interrupts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def launch(*_: object) -> Any:
        for _number in range(interrupts):
            os.kill(os.getpid(), signal.SIGINT)
        return SimpleNamespace(proc=java)

    monkeypatch.setattr(session, "launch_gateway", launch)
    session._start_java(SparkConf(loadDefaults=False))


def test_java_ends_with_the_program(java: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyboardInterrupt):
        started_by(java, 1, monkeypatch)
    assert java.wait(10) == -signal.SIGTERM


def test_a_second_one_does_not_wait_for_java(java: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyboardInterrupt):
        started_by(java, 2, monkeypatch)
    assert java.poll() is None


def test_an_interrupt_after_the_start_ends_java_too(
    java: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    started_by(java, 0, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    assert java.wait(10) == -signal.SIGTERM
