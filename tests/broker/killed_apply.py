"""The program, but it dies at a step: `python -m tests.broker.killed_apply STEP ARGUMENTS`.

Steps: `before-intent`, `after-intent`, `after-action` (the broker took it, nothing is noted), `torn-result` (half of
the result is on disk), `after-result`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from pulsar_backlog.cli import run_cli
from pulsar_backlog.repair.applying import apply, journal

STEP = sys.argv.pop(1)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dying_journal(add: Callable[[Any, journal.Line], None]) -> Callable[[Any, journal.Line], None]:
    def added(self: journal.Journal, line: journal.Line) -> None:
        intent = line.status == "begun"
        if intent and STEP == "before-intent":
            die()
        if not intent and STEP == "after-action":
            die()
        if not intent and STEP == "torn-result":
            with self._path.open("ab") as stream:
                stream.write(json.dumps({"action_id": line.action_id})[:-3].encode())
            die()
        add(self, line)
        if intent and STEP == "after-intent":
            die()
        if not intent and STEP == "after-result":
            die()

    return added


journal.Journal.add = dying_journal(journal.Journal.add)  # type: ignore[method-assign]
assert apply.Journal is journal.Journal
run_cli()
