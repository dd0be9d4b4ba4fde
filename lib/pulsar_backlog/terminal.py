"""The way to standard output and standard error: nothing that others wrote steers a terminal, whoever prints it.

Screens are laid out with text from `foreign_text.visible`; what did not pass there (an option's value in a message of
the argument parser, an exception's words, a stack trace, a warning) passes here. The two streams are wrapped once, when
the program begins; consoles, which write escape sequences of their own, clean what they are given instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO, cast

from pulsar_backlog.foreign_text import visible_lines

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment


class _Guarded:
    """A text stream that writes out what a terminal would act on; all else is the stream's."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(visible_lines(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@cache
def _harmless() -> type[Console]:
    """Rich is imported when something is drawn: help and mistakes of the command line do without."""
    from rich.console import Console  # noqa: PLC0415
    from rich.segment import Segment  # noqa: PLC0415

    class Harmless(Console):
        """A console that writes no control characters but its own."""

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                text, style, control = segment
                yield segment if control else Segment(visible_lines(text), style)

    return Harmless


def guard_streams() -> None:
    """Let nothing but harmless text through standard output and standard error, from now on."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, _Guarded):
            setattr(sys, name, _Guarded(stream))


def surely_no_terminal(*, stderr: bool = False) -> bool:
    """Whether `terminal` there is surely none, told without Rich: no device, and nobody says that it is to be one."""
    stream = sys.stderr if stderr else sys.stdout
    return not stream.isatty() and not {"FORCE_COLOR", "TTY_COMPATIBLE"} & os.environ.keys()


def terminal(*, stderr: bool = False) -> Console:
    """A console on standard output, or on standard error, on which text is text: no markup, no names of emoji."""
    stream = sys.stderr if stderr else sys.stdout
    raw = stream.stream if isinstance(stream, _Guarded) else stream
    return _harmless()(file=cast("TextIO", raw), markup=False, emoji=False, highlight=False)
