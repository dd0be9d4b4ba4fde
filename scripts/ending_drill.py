"""Endings of a pipeline: Ctrl-C, or one of its helpers killed, is one sentence and the right exit code.

A part of `kill_drill.py`. Nothing here is about tables: an undisturbed run into the same place follows.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass

from pulsar_backlog.terms import EXIT_FAILED, EXIT_INTERRUPTED
from scripts.sessions import POLL_SECONDS, kill_session, members, processes_of_kind

CTRL_C = "ctrl-c"
ENDS = {CTRL_C: EXIT_INTERRUPTED, "java": EXIT_FAILED, "launcher": EXIT_FAILED, "daemon": EXIT_FAILED,
        "worker": EXIT_FAILED, "task": EXIT_FAILED}  # fmt: skip
"""The exit code that belongs to each disturbance."""
MENDED = frozenset(("daemon", "worker", "task"))
"""What is started again where no task was using it: then the run ends as if nothing had been."""
TRIES = 3
"""Runs that end without a helper, after which the drill takes it that they need none: a small audit has no Java."""
CTRL_C_SECONDS = 2.0
"""From Ctrl-C to the end."""
LIMIT_SECONDS = 300

_FOREIGN = re.compile("Traceback|[Pp]y4[Jj]|ConnectionRefused|^Exception|^\tat ", re.MULTILINE)
"""Words that no user should read."""


@dataclass(frozen=True)
class Disturbance:
    """What happens to a run: of what kind, and how many seconds after it began, or after the helper was there."""

    kind: str
    seconds: float


def planned(number: int, seconds: float, chance: random.Random) -> deque[Disturbance]:
    """So many disturbances in random order, all kinds in equal shares.

    Args:
        number: of disturbances.
        seconds: how long an undisturbed run takes.
        chance: where moments come from. Half of the Ctrl-C come in the first half second.
    """
    kinds = [kind for _ in range(-(-number // len(ENDS))) for kind in chance.sample(list(ENDS), len(ENDS))][:number]
    most = {"launcher": 0.0, "java": seconds, "daemon": seconds / 4, "worker": 0.2, "task": 0.2}
    return deque(
        Disturbance(kind, chance.uniform(0, chance.choice((0.5, 5.0)) if kind == CTRL_C else most[kind]))
        for kind in kinds
    )


def disturb(process: subprocess.Popen[bytes], one: Disturbance) -> float | None:
    """Wait for the moment and do it; when that was, or None where the run ended before."""
    if one.kind == CTRL_C:
        pids = [process.pid]
        with suppress(subprocess.TimeoutExpired):
            process.wait(one.seconds)
    else:
        pids = _awaited(process, one)
    if process.poll() is not None or not pids:
        return None
    if one.kind == CTRL_C:
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    for pid in pids if one.kind != CTRL_C else ():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return time.monotonic()


def _awaited(process: subprocess.Popen[bytes], one: Disturbance) -> list[int]:
    """The helper's processes, at the moment; none where the run ends first."""
    while process.poll() is None and not processes_of_kind(process.pid, one.kind):
        time.sleep(POLL_SECONDS / 4)
    with suppress(subprocess.TimeoutExpired):
        process.wait(one.seconds)
    while process.poll() is None and not (pids := processes_of_kind(process.pid, one.kind)):
        time.sleep(POLL_SECONDS / 4)  # that one has ended meanwhile
    return pids if process.poll() is None else []


def faults(one: Disturbance, process: subprocess.Popen[bytes], since: float, log: str, clean: int) -> list[str]:
    """What is wrong with the ending of a run, in words.

    Args:
        one: what happened to it.
        process: its first one, which has ended.
        since: when it happened.
        log: what the run has said.
        clean: exit code of an undisturbed run.
    """
    wrong = []
    took, code = time.monotonic() - since, process.returncode
    if code != ENDS[one.kind] and not (one.kind in MENDED and code == clean):
        wrong.append(f"exit code {code}, not {ENDS[one.kind]}")
    if one.kind == CTRL_C and took > CTRL_C_SECONDS:
        wrong.append(f"ended {took:.1f} s after Ctrl-C")
    lines = [line for line in log.splitlines() if line and not line.startswith("[")]
    if code in ENDS.values() and len(lines) != 1:
        wrong.append(f"{len(lines)} lines besides progress, not one sentence")
    if foreign := _FOREIGN.search(log):
        wrong.append(f"{foreign[0]!r} is for nobody")
    return wrong


def end_of(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a run; one that does not come is made."""
    try:
        process.wait(LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        kill_session(process.pid)
        process.wait()
    deadline = time.monotonic() + CTRL_C_SECONDS * 5
    while list(members(process.pid)) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
