"""The program's door: Ctrl-C is one sentence from the first moment on, before what a command needs is imported."""

from __future__ import annotations

import sys

from pulsar_backlog.interrupts import end_at_once, run_process
from pulsar_backlog.library_settings import set_up_libraries


def main() -> None:
    """Run the program as a process of its own."""
    end_at_once()
    set_up_libraries()
    from pulsar_backlog.command_line import run  # noqa: PLC0415 - takes up to half a second

    run_process(run)


def run_cli() -> None:
    """Run the program in a process that goes on; Ctrl-C is its own affair."""
    from pulsar_backlog.command_line import run  # noqa: PLC0415 - as above

    sys.exit(run())


if __name__ == "__main__":
    main()
