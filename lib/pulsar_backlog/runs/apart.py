"""Results and ledgers lie apart: what would be written among the ledgers of a source is refused before it is made.

Later audits would list the results as objects of the source, and what replaces or removes results would meet ledgers.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pulsar_backlog.errors import UsageError
from pulsar_backlog.ledgers.bookies.address import folders_of, is_bookies
from pulsar_backlog.tableio.places import local_out

RESULTS = ("tables", "report", "data_docs", "plans", "payloads", "messages.parquet", "messages.jsonl", "live")
"""Folders of results below `--out` or `--to`; what else lies there stays as it is."""

_AZURE = ("az", "abfss")


def check_apart(source: str | None, place: str | None, option: str = "--out") -> None:
    """Look whether results have a place of their own.

    Args:
        source: where the ledgers lie.
        place: where results go.
        option: what names that place on the command line.

    Raises:
        UsageError: one lies in the other.
    """
    if source is None or place is None:
        return
    target = _place_of(place)
    written = {place: target} | {f"{place.rstrip('/')}/{name}": target.below(name) for name in RESULTS}
    for ledgers in _places_of(source):
        for name, folder in written.items():
            if folder.lies_in(ledgers):
                raise UsageError(_refusal(source, f"{option} {name}", ledgers.lies_in(folder), option))
            if folder is not target and ledgers.lies_in(folder):
                raise UsageError(
                    f"the source {source} lies in {name}, where results are written: choose another {option}"
                )


def _refusal(source: str, where: str, same: bool, option: str) -> str:
    verb = "is" if same else "lies in"
    return (
        f"{where} {verb} the source {source}, and results would be written among its ledgers: choose another {option}"
    )


@dataclass(frozen=True)
class _Folder:
    path: Path

    def below(self, name: str) -> _Folder:
        return _Folder(_real(self.path / name))

    def lies_in(self, other: _Folder | _Prefix) -> bool:
        if isinstance(other, _Prefix):
            return False
        if self.path.is_relative_to(other.path):
            return True
        # A folder may be mounted twice, or its name be written in two ways.
        identities = set(map(_identity, (self.path, *self.path.parents)))
        return (identity := _identity(other.path)) is not None and identity in identities


@dataclass(frozen=True)
class _Prefix:
    """A prefix of a bucket, or of a container; `account` is None where only the environment knows it."""

    bucket: str
    account: str | None
    path: PurePosixPath

    def below(self, name: str) -> _Prefix:
        return _Prefix(self.bucket, self.account, self.path / name)

    def lies_in(self, other: _Folder | _Prefix) -> bool:
        if isinstance(other, _Folder) or self.bucket != other.bucket:
            return False
        same = self.account == other.account or None in (self.account, other.account)
        return same and self.path.is_relative_to(other.path)


def _places_of(source: str) -> Iterator[_Folder | _Prefix]:
    if not is_bookies(source):
        yield _place_of(source)
        return
    folders = folders_of(source)
    yield from (_Folder(_real(folders.root / name)) for name in folders.only)


def _place_of(place: str) -> _Folder | _Prefix:
    folder = local_out(place)
    if folder is not None:
        return _Folder(_real(folder.expanduser()))
    scheme, _, rest = place.partition("://")
    bucket, _, key = rest.partition("/")
    container, at, host = bucket.partition("@")
    account = host.partition(".")[0] if at else None if scheme in _AZURE else ""
    store = "azure" if scheme in _AZURE else "s3" if scheme == "s3a" else scheme
    # As Hadoop does, which takes `..` and doubled slashes out.
    return _Prefix(f"{store}://{container}", account, PurePosixPath(posixpath.normpath(f"/{key.lstrip('/')}")))


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
