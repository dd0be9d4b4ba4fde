"""The drill of endings sees what it is for: processes by kind, wrong exit codes, traces and late ends."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter

import pytest

from pulsar_backlog.terms import EXIT_FAILED, EXIT_INTERRUPTED
from scripts.ending_drill import CTRL_C, ENDS, Disturbance, disturb, faults, planned

SENTENCE = "[1/9] inventory_ledgers\npulsar-backlog scan_entries: Java was ended by SIGKILL\n"


def ended(code: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", f"raise SystemExit({code})"])
    process.wait()
    return process


@pytest.mark.parametrize(
    ("kind", "code", "seconds", "log", "words"),
    [
        ("java", EXIT_FAILED, 9, SENTENCE, []),
        ("java", 2, 0, SENTENCE, ["exit code 2, not 3"]),
        ("java", 1, 0, "", ["exit code 1, not 3"]),
        ("daemon", 1, 0, "The report is out/report.html\nand more\n", []),  # Spark started another one
        ("worker", EXIT_FAILED, 0, "Traceback (most recent call last):\n" + SENTENCE,
         ["2 lines besides progress, not one sentence", "'Traceback' is for nobody"]),
        ("worker", EXIT_FAILED, 0, "x: stopped by Py4JJavaError\n", ["'Py4J' is for nobody"]),
        (CTRL_C, EXIT_INTERRUPTED, 1.9, "x: stopped by Ctrl-C\n", []),
        (CTRL_C, EXIT_INTERRUPTED, 2.5, "x: stopped by Ctrl-C\n", ["ended 2.5 s after Ctrl-C"]),
        (CTRL_C, EXIT_INTERRUPTED, 0, "", ["0 lines besides progress, not one sentence"]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_ending(kind: str, code: int, seconds: float, log: str, words: list[str]) -> None:
    process = ended(code)
    assert faults(Disturbance(kind, 0), process, time.monotonic() - seconds, log, clean=1) == words


def test_all_kinds_have_their_share() -> None:
    plan = planned(13, 30, random.Random(1))
    shares = Counter(one.kind for one in plan)
    assert shares.keys() == ENDS.keys()
    assert set(shares.values()) == {2, 3}


def test_ctrl_c_comes_at_its_moment() -> None:
    began = time.monotonic()
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL) as process:
        since = disturb(process, Disturbance(CTRL_C, 0.5))
        process.wait(10)
    assert since is not None
    assert since - began >= 0.5
    assert process.returncode in (-2, EXIT_INTERRUPTED)


def test_a_run_that_ends_before_is_not_disturbed() -> None:
    with subprocess.Popen([sys.executable, "-c", ""], start_new_session=True) as process:
        assert disturb(process, Disturbance("java", 0)) is None
