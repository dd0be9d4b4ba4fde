"""What an action costs all cores, with the processes that it starts and those that end meanwhile."""

from __future__ import annotations

import math
import subprocess
import sys

from bench.measuring import Timing, interleaved

SPIN = "import time\nwhile time.process_time() < 0.5: pass"  # the kernel's account rounds to ticks


def test_a_child_counts_when_it_is_waited_for() -> None:
    (timing,) = interleaved({"spin": lambda: subprocess.run([sys.executable, "-c", SPIN], check=True)}, 1).values()
    assert timing.cpu_seconds[0] >= 0.4
    assert "core-s" in timing.words()


def test_nobody_knows_what_a_child_used_that_was_there_before_and_is_gone() -> None:
    children = []

    def begin() -> None:
        children.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))

    (timing,) = interleaved({"end it": lambda: children[-1].communicate(b"\n")}, 1, prepare=begin).values()
    assert math.isnan(timing.cpu_seconds[0])
    assert "core-s" not in timing.words()


def test_words() -> None:
    assert Timing((2.0, 1.0, 1.5), (3.0, 2.0, 2.5)).words() == "1.50 s (spread 67%, 2.5 core-s)"
    assert Timing((2.0, 1.0, 1.5), (3.0, math.nan, 2.5)).words() == "1.50 s (spread 67%)"
