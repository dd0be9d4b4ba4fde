"""Fields of JSON that anyone may have edited: what is not of its type is absent, and noted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TypeVar

_T = TypeVar("_T")
_MAX_LONG = 2**63 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class Fields:
    """One JSON object.

    Attributes:
        faults: paths of fields that are not what they should be; shared by all objects of one file.
    """

    def __init__(self, body: dict[str, object], faults: list[str], path: str = "") -> None:
        self._body = body
        self._path = path
        self.faults = faults

    def has(self, *names: str) -> bool:
        """Whether all these fields are there, whatever they hold."""
        return all(name in self._body for name in names)

    def integer(self, name: str) -> int | None:
        """A Java long that is not negative."""
        value = self._typed(name, int)
        if value is None or 0 <= value <= _MAX_LONG:
            return value
        self.fault(name)
        return None

    def signed(self, name: str) -> int | None:
        """A Java long."""
        value = self._typed(name, int)
        if value is None or -_MAX_LONG - 1 <= value <= _MAX_LONG:
            return value
        self.fault(name)
        return None

    def number(self, name: str) -> float | None:
        """A number, with or without a fraction, that is finite."""
        value = self._typed(name, int) if isinstance(self._body.get(name), int) else self._typed(name, float)
        if value is None or abs(value) <= _MAX_LONG:
            return value
        self.fault(name)
        return None

    def names(self) -> list[str]:
        """Names of all fields."""
        return list(self._body)

    def flag(self, name: str) -> bool | None:
        """A boolean."""
        return self._typed(name, bool)

    def text(self, name: str) -> str | None:
        """A string that any table can hold; an empty one is absent, as pulsarctl writes it."""
        return storable(self._typed(name, str) or "") or None

    def time_ms(self, name: str) -> int | None:
        """An ISO date with its offset, in milliseconds since 1970."""
        text = self.text(name)
        if text is None:
            return None
        try:
            return (datetime.fromisoformat(text) - _EPOCH) // _MILLISECOND
        except (ValueError, TypeError, OverflowError):  # TypeError: without an offset it is no point in time
            self.fault(name)
            return None

    def child(self, name: str) -> Fields | None:
        """An object."""
        value = self._typed(name, dict)
        return None if value is None else Fields(value, self.faults, self._at(name))

    def members(self, name: str) -> Iterator[tuple[str, Fields]]:
        """Names and objects of a map; none when it is absent."""
        parent = self.child(name)
        for key in parent._body if parent else ():
            member = parent.child(key) if parent else None
            if member:
                yield key, member

    def children(self, name: str) -> Iterator[Fields]:
        """The objects of a list; none when it is absent."""
        for index, item in enumerate(self._typed(name, list) or ()):
            if isinstance(item, dict):
                yield Fields(item, self.faults, f"{self._at(name)}[{index}]")
            else:
                self.fault(f"{name}[{index}]")

    def integers(self, name: str) -> Iterator[int]:
        """The Java longs of a list that are not negative; none when it is absent."""
        for index, item in enumerate(self._typed(name, list) or ()):
            if type(item) is int and 0 <= item <= _MAX_LONG:
                yield item
            else:
                self.fault(f"{name}[{index}]")

    def count(self, name: str) -> int | None:
        """How many items a list has."""
        value = self._typed(name, list)
        return None if value is None else len(value)

    def fault(self, name: str) -> None:
        """Note that a field is not what it should be."""
        self.faults.append(self._at(name))

    def _typed(self, name: str, type_: type[_T]) -> _T | None:
        value = self._body.get(name)
        if isinstance(value, type_) and type(value) is type_:  # exactly, because a bool is an int
            return value
        if value is not None:
            self.fault(name)
        return None

    def _at(self, name: str) -> str:
        return storable(f"{self._path}.{name}" if self._path else name)


def storable(text: str) -> str:
    """Text without lone surrogates, as odd file names and JSON escapes make them: no table can hold those."""
    return text.encode("utf-8", "replace").decode()
