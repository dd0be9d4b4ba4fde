"""`audit`: the whole audit as a process of its own, so that the caller's Spark session is left alone."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulsar_backlog.errors import RunError, UsageError
from pulsar_backlog.options import OPTIONS
from pulsar_backlog.options.printed import COMMAND_OPTIONS, rendered
from pulsar_backlog.terms import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE, RESULT_NAME


@dataclass(frozen=True)
class AuditResult:
    """What an audit found.

    Attributes:
        out: folder or bucket of its tables and report.
        exit_code: 0 clean, 1 findings, 4 incomplete (something could not be read), 99 nothing new.
        result: what `result.json` holds, see docs/result.md; None where `out` is a bucket.
    """

    out: str
    exit_code: int
    result: dict[str, Any] | None


def audit(source: str, out: str, **options: object) -> AuditResult:
    """Audit a source, as `pulsar-backlog audit` does; it takes minutes and starts a JVM in a process of its own.

    Args:
        source: as `open` takes it.
        out: folder or bucket for tables and report.
        options: by the names of the options of `pulsar-backlog audit`, with `_` for `-`.

    Raises:
        UsageError: an option is wrong, or something the audit needs is not there.
        RunError: it failed.
    """
    unknown = [name for name in options if name not in COMMAND_OPTIONS["audit"]]
    if unknown:
        raise UsageError(f"an audit has no option {', '.join(unknown)}; it has {', '.join(COMMAND_OPTIONS['audit'])}")
    words = [word for name, value in options.items() for word in rendered(OPTIONS[name].flag, value)]
    command = [sys.executable, "-m", "pulsar_backlog.cli", "audit", source, "--out", out, *words]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own program, no shell
    if ended.returncode in (EXIT_USAGE, EXIT_FAILED, EXIT_INTERRUPTED) or ended.returncode < 0:
        lines = [line for line in ended.stderr.strip().splitlines() if line.strip()]
        last_line = lines[-1] if lines else f"the audit ended with exit code {ended.returncode}"
        raise UsageError(last_line) if ended.returncode == EXIT_USAGE else RunError(ended.returncode, last_line)
    return AuditResult(out, ended.returncode, _result(out))


def _result(out: str) -> dict[str, Any] | None:
    path = Path(out) / RESULT_NAME
    if "://" in out or not path.is_file():
        return None
    result: dict[str, Any] = json.loads(path.read_text())
    return result
