"""The kinds of storage that hold ledgers, each with its traits: everybody else asks a trait and names no kind.

What examines and walks a kind is in `kinds.py`. Views in conf/sql/ name kinds; a test holds them to this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["jcloud", "streaming", "filesystem", "bookies", "live"]
"""How a ledger is stored: by the object-store offloader, in objects of streaming offload, as a MapFile by the
filesystem offloader, in the entry logs and journals of bookies, or where a broker reads it for us."""


@dataclass(frozen=True, kw_only=True)
class StorageKind:
    """Traits of one kind.

    Attributes:
        is_offloaded: whether an offloader wrote it.
        is_spread: whether a ledger lies in several files, whose blocks may overlap.
        is_segment: whether one file holds several ledgers, and metadata name the file and not its ledgers.
        is_in_logs: whether it lies in entry logs and journals of bookies.
        is_broker_read: whether a broker reads it for us, so that what is stored beside it is an attempt.
        is_sized: whether places of entries are offsets into one data file, and lie within its size.
        has_equal_blocks: whether an offloader cuts data into blocks of one length, each with a header.
        names_itself: whether objects carry user metadata that name the ledger's topic; an index is uploaded with them.
        index_row: what a row of its index stands for, as people call it.
        promises_bytes: whether entry bytes of a ledger differ from the size of its data, so that metadata tell better.
        is_told_by_listing: whether all that examining a copy reads are objects of its own, so that what is listed of
            them tells when it must be examined again.
        deleted_by: why nobody but BookKeeper or a broker deletes it; empty where objects are a ledger's own.
    """

    is_offloaded: bool = False
    is_spread: bool = False
    is_segment: bool = False
    is_in_logs: bool = False
    is_broker_read: bool = False
    is_sized: bool = False
    has_equal_blocks: bool = False
    names_itself: bool = False
    index_row: str = "block"
    promises_bytes: bool = True
    is_told_by_listing: bool = False
    deleted_by: str = ""


STORAGE_KINDS: dict[Kind, StorageKind] = {
    "jcloud": StorageKind(
        is_offloaded=True,
        is_sized=True,
        has_equal_blocks=True,
        names_itself=True,
        promises_bytes=False,
        is_told_by_listing=True,
    ),
    "streaming": StorageKind(is_offloaded=True, is_spread=True, is_segment=True),
    "filesystem": StorageKind(is_offloaded=True, is_sized=True, index_row="pair", is_told_by_listing=True),
    "bookies": StorageKind(
        is_spread=True,
        is_in_logs=True,
        deleted_by="Files of bookies hold it together with other ledgers: only BookKeeper may delete there.",
    ),
    "live": StorageKind(
        is_broker_read=True,
        deleted_by="A broker reads it, from BookKeeper or from objects that it was not found in: only the broker "
        "deletes it.",
    ),
}

_UNKNOWN = StorageKind()


def traits_of(kind: str | None) -> StorageKind:
    """The traits of a kind by its name; none of what is no copy of a ledger, as an upload, or of a newer version."""
    return next((traits for name, traits in STORAGE_KINDS.items() if name == kind), _UNKNOWN)
