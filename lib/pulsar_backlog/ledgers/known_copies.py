"""Copies that an earlier audit examined: what it found holds while the listing says the same of all that it read.

Examining reads the objects of a pair and nothing else, so the same objects give the same result. Looked at again is

- what is listed with another path, size, version tag or time, or with an object more or less,
- what anything was wrong with: there are few, a fault of the store may hide behind it, and it may have been mended,
- what was examined by another release, or from another address, whose folders may name the topic,
- what only its time tells apart, and was written just before it was read: clocks of file systems are coarse,
- every kind of storage whose objects the listing does not tell apart (`is_told_by_listing`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from pydantic import ConfigDict, TypeAdapter

from pulsar_backlog import __version__
from pulsar_backlog.ledgers.copies import Examined, Pair
from pulsar_backlog.ledgers.storage_kinds import STORAGE_KINDS
from pulsar_backlog.ledgers.stored_objects import StoredObject

EXAMINATION = 1
"""Grows with every change of what examining a copy finds, so that what was found before is not taken over."""
EXAMINER = f"{__version__}/{EXAMINATION}"
COARSEST_CLOCK_MS = 3000
"""File systems tell times to 2 s (FAT), or better."""

Copy = tuple[int, str]
"""Ledger and name of a copy."""


@dataclass
class KnownCopies:
    """What is known of copies by earlier audits, and what this one leaves to the next.

    Attributes:
        begun_ms: when this audit began, before it listed anything; milliseconds.
        before: what was found of copies, as text.
        after: the same of copies that were listed now.
    """

    begun_ms: int
    before: Mapping[Copy, str] = field(default_factory=dict)
    after: dict[Copy, str] = field(default_factory=dict)

    def examined(self, pair: Pair) -> Examined | None:
        """What was found of a copy whose objects are listed as they were then; None where it must be looked at."""
        key = pair.ledger_id, pair.copy
        text = self.before.get(key)
        try:
            one = None if text is None else _adapter().validate_json(text).copy
        except ValueError:
            return None  # nobody of ours wrote it
        if text is None or one is None or one.pair != pair:
            return None
        self.after[key] = text
        return one

    def add(self, one: Examined) -> None:
        """Keep what was found of a copy, where the next audit may take it over."""
        if not self._may_be_kept(one):
            return
        try:
            self.after[one.pair.ledger_id, one.pair.copy] = (
                _adapter().dump_json(_Examination(one), exclude_defaults=True).decode()
            )
        except ValueError:
            return  # names in it that are not Unicode

    def _may_be_kept(self, one: Examined) -> bool:
        objects = [stored for stored in (one.pair.data, one.pair.index, one.pair.checksums) if stored is not None]
        is_sound = one.pair.data is not None and not one.problems and not one.faults
        return (
            is_sound and STORAGE_KINDS[one.pair.kind].is_told_by_listing and all(self._is_told(one) for one in objects)
        )

    def _is_told(self, stored: StoredObject) -> bool:
        """Whether the object would be listed otherwise if it were written again."""
        if stored.etag is not None and not stored.has_time_as_tag:
            return True
        return stored.modified_ms is not None and stored.modified_ms < self.begun_ms - COARSEST_CLOCK_MS


@dataclass(frozen=True)
class _Examination:
    """What was found of a copy, as JSON has it."""

    __pydantic_config__ = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    copy: Examined


@cache
def _adapter() -> TypeAdapter[_Examination]:
    return TypeAdapter(_Examination)
