"""A bundle: one zip with what a finding stands on, for a ticket. Written whole, read as if a stranger had made it.

```
README.txt             what it is, in words
manifest.json          what it is, for programs: `Manifest`
report.html            the front page of the audit's report
rows/TABLE.json        rows of tables that concern the finding; rows/TABLE.parquet the same
entries/LEDGER-ENTRY.bin   bytes of an entry as stored, or what redaction leaves of them
SHA256SUMS             of all files above but itself, as `sha256sum -c` takes it
```

Names are made of numbers and names of tables alone. Who reads a bundle looks members up by such names and unpacks
nothing to a disk; sizes are bounded before anything is inflated.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pulsar_backlog.errors import UsageError
from pulsar_backlog.json_text import to_json
from pulsar_backlog.private_files import private_file
from pulsar_backlog.whole_files import replacing

VERSION = 1
"""Of the manifest: grows when a field changes its meaning or goes away."""
MAX_BYTES = 256 * 1024 * 1024
"""Bytes of all members together."""
MAX_MEMBER_BYTES = 64 * 1024 * 1024
MAX_MEMBERS = 5_000
MANIFEST, SUMS = "manifest.json", "SHA256SUMS"

_ENTRY = re.compile(r"(\d{1,20}):(\d{1,20})", re.ASCII)
_END = struct.Struct("<4s4H2LH")
_END_MARK, _ZIP64_MARK, _ZIP64_LOCATOR_BYTES = b"PK\x05\x06", b"PK\x06\x07", 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MAX_DIRECTORY_BYTES = 1024 * 1024
_TIME = (1980, 1, 1, 0, 0, 0)
"""Of members: the same contents are the same bytes."""


def entry_name(position: str) -> str:
    """The member that holds an entry's bytes.

    Raises:
        UsageError: it is no position.
    """
    match = _ENTRY.fullmatch(position)
    if match is None:
        raise UsageError(f"{position!r} is not a position: write LEDGER:ENTRY, such as 22:3")
    return f"entries/{int(match[1])}-{int(match[2])}.bin"


class BundleWriter:
    """A bundle that is being written.

    Attributes:
        sums: SHA-256 and bytes of each member so far.
    """

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.sums: dict[str, tuple[str, int]] = {}

    @property
    def room(self) -> int:
        """Bytes that still fit."""
        return MAX_BYTES - sum(size for _digest, size in self.sums.values())

    def fits(self, size: int) -> bool:
        """Whether a member of so many bytes still fits; some room stays for what tells of it."""
        return size <= min(MAX_MEMBER_BYTES, self.room - MAX_MEMBER_BYTES // 4) and len(self.sums) < MAX_MEMBERS - 50

    def add(self, name: str, data: bytes) -> None:
        """Add a member."""
        member = zipfile.ZipInfo(name, _TIME)
        member.compress_type = zipfile.ZIP_DEFLATED
        member.external_attr = 0o600 << 16
        self._archive.writestr(member, data)
        self.sums[name] = hashlib.sha256(data).hexdigest(), len(data)


@contextmanager
def new_bundle(path: Path, manifest: dict[str, Any]) -> Iterator[BundleWriter]:
    """A bundle at `path`, for its owner alone, whole or not there; the manifest is written when the block ends.

    Raises:
        UsageError: something is there already, or it cannot be written there.
    """
    if path.exists():
        raise UsageError(f"{path} exists already: name a new file with --to")
    try:
        with replacing(path) as part, private_file(part) as file, zipfile.ZipFile(file, "w") as archive:
            writer = BundleWriter(archive)
            yield writer
            files = {name: {"sha256": digest, "bytes": size} for name, (digest, size) in writer.sums.items()}
            writer.add(MANIFEST, to_json({**manifest, "files": files}, indent=1).encode() + b"\n")
            sums = "".join(f"{digest}  {name}\n" for name, (digest, _size) in sorted(writer.sums.items()))
            writer.add(SUMS, sums.encode())
    except OSError as error:
        raise UsageError(f"{path}: it cannot be written ({error.strerror})") from error


def is_bundle(place: str) -> bool:
    """Whether a place looks like a bundle: a file whose name ends so."""
    return place.endswith(".zip") and "://" not in place and Path(place).is_file()


class Bundle:
    """A bundle that is read. Nothing that it says of itself is believed before it is checked.

    Attributes:
        manifest: what it says of itself.
    """

    def __init__(self, archive: zipfile.ZipFile, path: str) -> None:
        self._archive, self._path = archive, path
        self.manifest: dict[str, Any] = {}
        document = self._document(MANIFEST)
        if not isinstance(document, dict) or document.get("bundle_version") != VERSION:
            raise self._wrong(f"its {MANIFEST} is of no version that this program reads ({VERSION})")
        self.manifest = document

    def read(self, name: str) -> bytes | None:
        """A member, checked against the manifest's digest; None where it has none of that name.

        Raises:
            UsageError: it is larger than it may be, damaged, or not what the manifest says.
        """
        try:
            member = self._archive.getinfo(name)
        except KeyError:
            return None
        if member.file_size > MAX_MEMBER_BYTES or member.flag_bits & 1 or member.compress_type not in _METHODS:
            raise self._wrong(f"{name} is encrypted, compressed otherwise, or larger than {MAX_MEMBER_BYTES} bytes")
        try:
            with self._archive.open(member) as file:
                data = file.read(MAX_MEMBER_BYTES + 1)
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, ValueError) as error:
            raise self._wrong(f"{name} cannot be read ({type(error).__name__})") from error
        if name != MANIFEST:
            files = self.manifest.get("files")
            listed = files.get(name) if isinstance(files, dict) else None
            if not isinstance(listed, dict) or listed.get("sha256") != hashlib.sha256(data).hexdigest():
                raise self._wrong(f"{name} is not what the manifest says: its SHA-256 differs")
        return data

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Rows of a table; none where it has none.

        Raises:
            UsageError: they are damaged.
        """
        document = self._document(f"rows/{table}.json")
        rows = [] if document is None else document
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise self._wrong(f"rows/{table}.json is no list of rows")
        return rows

    def entry(self, position: str) -> dict[str, Any] | None:
        """What the manifest says of an entry; None where it has none."""
        entries = self.manifest.get("entries")
        listed = entries if isinstance(entries, list) else []
        return next((one for one in listed if isinstance(one, dict) and one.get("position") == position), None)

    def positions(self) -> list[str]:
        """Positions of all its entries."""
        entries = self.manifest.get("entries")
        return [str(one.get("position")) for one in entries or () if isinstance(one, dict)]

    def _document(self, name: str) -> Any:
        data = self.read(name)
        try:
            return None if data is None else json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._wrong(f"{name} is no JSON") from error

    def _wrong(self, words: str) -> UsageError:
        return UsageError(f"{self._path} is no bundle that can be believed: {words}")


@contextmanager
def open_bundle(path: str) -> Iterator[Bundle]:
    """A bundle.

    Raises:
        UsageError: it is none, or damaged.
    """
    try:
        _check_directory(Path(path))
        with zipfile.ZipFile(path) as archive:
            yield Bundle(archive, path)
    except (zipfile.BadZipFile, struct.error, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        raise UsageError(f"{path} is no bundle that can be believed: it is no whole zip file") from error


def _check_directory(path: Path) -> None:
    """Look how large the directory says it is, before Python makes an object of each member.

    Raises:
        UsageError: it is larger than that of any bundle.
        struct.error: there is none.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - _END.size - _ZIP64_LOCATOR_BYTES, 0))
        tail = file.read()
    mark, _, _, _, members, directory_bytes, _, _ = _END.unpack(tail[-_END.size :])
    is_plain = mark == _END_MARK and not tail.startswith(_ZIP64_MARK)
    if not is_plain or size > 2 * MAX_BYTES or members > MAX_MEMBERS or directory_bytes > _MAX_DIRECTORY_BYTES:
        raise UsageError(f"{path} is no bundle that can be believed: it is no zip file as `bundle` writes it")
