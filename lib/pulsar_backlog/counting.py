"""Numbers with their nouns, for every sentence that counts something."""

from __future__ import annotations

_ES = ("s", "x", "z", "ch", "sh")


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 message`, `3 batches`, `1,200 entries`.

    Args:
        number: how many.
        one: words for one.
        many: words for another number; None where they are a regular plural.
    """
    return f"{number:,} {one if number == 1 else many or _plural(one)}"


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(_ES) else f"{noun}s"
