"""The way to standard output and standard error: nothing that others wrote steers a terminal, whoever prints it.

Screens are laid out with text from `foreign_text.visible`; what did not pass there (an option's value in a message of
the argument parser, an exception's words, a stack trace, a warning) passes here. The two streams are wrapped once, when
the program begins; consoles, which write escape sequences of their own, clean what they are given instead.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from pulsar_backlog.foreign_text import visible_lines


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


class _Terminal(Console):
    """A console on which text is text: no markup, no names of emoji, no control characters."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(visible_lines(text), style)


def guard_streams() -> None:
    """Let nothing but harmless text through standard output and standard error, from now on."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, _Guarded):
            setattr(sys, name, _Guarded(stream))


def terminal(*, stderr: bool = False) -> Console:
    """A console on standard output, or on standard error; the only kind that the program uses."""
    stream = sys.stderr if stderr else sys.stdout
    raw = stream.stream if isinstance(stream, _Guarded) else stream
    return _Terminal(file=cast("TextIO", raw), markup=False, emoji=False, highlight=False)
