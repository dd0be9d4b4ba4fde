"""Plans for tests, and the program that applies them."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.cli import run_cli
from pulsar_backlog.repair.values import Action, Message, Plan, Run, write_plan
from pulsar_backlog.terms import Position
from tests.broker.process import Broker

ROOT = Path(__file__).parents[2]


def runs(positions: Sequence[Position]) -> tuple[Run, ...]:
    return tuple(Run(ledger, entry, entry) for ledger, entry in positions)


def make_plan(folder: Path, actions: Sequence[Action], payloads: dict[int, bytes] | None = None) -> Path:
    write_plan(folder, Plan("test", tuple(actions)), payloads or {})
    return folder


def message_of(payload: bytes, original: Position, **fields: Any) -> Message:
    return Message(original, hashlib.sha256(payload).hexdigest(), len(payload), **fields)


def repair(broker: Broker, verb: str, plan: Path, *flags: str, token: Path | None = None) -> tuple[int, list[Any]]:
    """Run `pulsar-backlog repair` in this process; its exit code, and what it says of each action or of an error.

    Of an option that is given twice the last counts, so flags may name another address than the broker's own.
    """
    return said_by(_line(broker, verb, plan, flags, token))


def said_by(argv: Sequence[str]) -> tuple[int, list[Any]]:
    """Run `pulsar-backlog` with any command line; its exit code, and its JSON lines or its error."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["pulsar-backlog", *argv])
        with pytest.raises(SystemExit) as ended:
            run_cli()
    said = [json.loads(line) for line in out.getvalue().splitlines()]
    return int(ended.value.code or 0), said or [err.getvalue()]


def started(broker: Broker, plan: Path, *flags: str) -> subprocess.Popen[bytes]:
    """An apply in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "pulsar_backlog.cli", *_line(broker, "apply", plan, ("--yes", *flags), None)],
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'lib'}:{ROOT}"},
        stdout=subprocess.DEVNULL,
    )


def killed_at(broker: Broker, plan: Path, step: str, *flags: str) -> int:
    """Apply a plan, and die as by kill -9 at a step (see `killed_apply.py`)."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.broker.killed_apply",
            step,
            *_line(broker, "apply", plan, ("--yes", *flags), None),
        ],
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'lib'}:{ROOT}"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    return done.returncode


def _line(broker: Broker, verb: str, plan: Path, flags: Sequence[str], token: Path | None) -> list[str]:
    return [
        "repair", verb, str(plan), "--admin-url", broker.admin_url, "--service-url", broker.service_url,
        "--token-file", str(token or broker.token_file), "--timeout-seconds", "10", *flags,
    ]  # fmt: skip


def apply_on_a_terminal(broker: Broker, plan: Path, *flags: str) -> str:
    """Apply a plan where somebody looks; what a terminal shows."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "pulsar_backlog.cli", *_line(broker, "apply", plan, ("--yes", *flags), None)],
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'lib'}:{ROOT}", "TERM": "dumb", "COLUMNS": "80"},
        stdout=slave,
    ):  # fmt: skip
        os.close(slave)
        shown = b""
        with suppress(OSError):  # its end, where a terminal is closed
            while part := os.read(master, 65536):
                shown += part
    os.close(master)
    return shown.decode()
