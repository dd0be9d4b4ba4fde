"""Types of Spark's DDL taken apart, as text."""

from __future__ import annotations

from collections.abc import Iterator


def inside(ddl: str) -> tuple[str, str]:
    """A type's name, and what stands between its angle brackets."""
    name, _, rest = ddl.strip().partition("<")
    return name.strip(), rest.removesuffix(">")


def parts(ddl: str) -> Iterator[str]:
    """What commas separate, but those inside angle brackets."""
    depth = start = 0
    for at, character in enumerate(ddl):
        depth += (character == "<") - (character == ">")
        if character == "," and not depth:
            yield ddl[start:at]
            start = at + 1
    yield ddl[start:]
