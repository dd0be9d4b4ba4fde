"""What of a snapshot is done: one line of JSON per topic, appended and flushed to disk when its files are there.

The first line says what was asked for. A line that a kill cut short is dropped; the topic is then saved again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pulsar_backlog.errors import UsageError
from pulsar_backlog.json_text import to_json
from pulsar_backlog.terms import LOCK_NAME
from pulsar_backlog.whole_files import replacing

INDEX_NAME = ".snapshot.jsonl"
_VERSION = 1

Status = Literal["saved", "gone", "failed"]


@dataclass(frozen=True)
class Entry:
    """What became of one topic.

    Attributes:
        topic: full name.
        status: `gone` is a topic that was deleted between listing and reading.
        at_ms: when reading it began; everything saved is at least as new.
        files: names in the folder.
        asked_ms: the same by the earlier of our clock and the broker's; None where the broker tells no time.
        note: why it failed, or is gone.
    """

    topic: str
    status: Status
    at_ms: int
    files: tuple[str, ...] = ()
    note: str | None = None
    asked_ms: int | None = None


class SnapshotIndex:
    """The index of one snapshot folder.

    Attributes:
        begun_ms: when the snapshot was begun.
        finished_ms: when all topics had been tried; None until then.
        entries: the newest of each topic.
    """

    def __init__(self, path: Path, begun_ms: int) -> None:
        self.begun_ms = begun_ms
        self.finished_ms: int | None = None
        self.entries: dict[str, Entry] = {}
        self._path = path

    def is_done(self, topic: str) -> bool:
        """Whether nothing is left to do for a topic: it is gone, or its files are there."""
        entry = self.entries.get(topic)
        if entry is None or entry.status == "failed":
            return False
        return all((self._path.parent / name).is_file() for name in entry.files)

    @property
    def failed(self) -> list[Entry]:
        """Topics that could not be saved."""
        return [entry for entry in self.entries.values() if entry.status == "failed"]

    def add(self, entry: Entry) -> None:
        """Note what became of a topic."""
        self._append(asdict(entry))
        self.entries[entry.topic] = entry

    def finish(self, at_ms: int) -> None:
        """Note that every topic was tried."""
        self._append({"finished_ms": at_ms})
        self.finished_ms = at_ms

    def _append(self, line: Mapping[str, object]) -> None:
        with self._path.open("ab") as stream:
            stream.write(to_json(line).encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())


def open_index(folder: Path, admin_url: str, globs: tuple[str, ...], now_ms: int) -> SnapshotIndex:
    """The index of a new snapshot, or that of one that was begun before and asked for the same.

    Raises:
        UsageError: the folder holds something else, or a snapshot of something else.
    """
    scope = {"version": _VERSION, "admin_url": admin_url, "topics": sorted(globs)}
    path = folder / INDEX_NAME
    if path.is_file() and (lines := _lines(path)):
        return _continued(path, lines, scope)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        occupied = any(child.name not in (INDEX_NAME, LOCK_NAME) for child in folder.iterdir())
    except OSError as error:
        raise UsageError(f"--out {folder}: {error.strerror}") from None
    if occupied:
        raise UsageError(
            f"--out {folder} holds other files: choose an empty folder, so that none of them is taken for new"
        )
    index = SnapshotIndex(path, now_ms)
    index._append({**scope, "begun_ms": now_ms})
    return index


def _continued(path: Path, lines: list[dict[str, Any]], scope: Mapping[str, object]) -> SnapshotIndex:
    head = lines[0]
    begun_ms = head.pop("begun_ms", None)
    if head != scope or not isinstance(begun_ms, int):
        raise UsageError(
            f"--out {path.parent} holds a snapshot of {head.get('topics')} from {head.get('admin_url')}: "
            "choose another folder, or ask for the same"
        )
    index = SnapshotIndex(path, begun_ms)
    for line in lines[1:]:
        if "finished_ms" in line:
            index.finished_ms = int(line["finished_ms"])
        else:
            entry = Entry(**{**line, "files": tuple(line["files"])})
            index.entries[entry.topic] = entry
    return index


def _lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines; what a kill left behind the last of them is cut off, so that the next one is whole too."""
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        os.truncate(path, len(whole))
    try:
        return [json.loads(line) for line in whole.splitlines()]
    except ValueError:
        raise UsageError(f"{path} is not the index of a snapshot: delete the folder and start again") from None


def saved_entries(folder: Path) -> list[Entry]:
    """What became of each topic of a snapshot, the newest of each; none where the folder is no snapshot."""
    entries: dict[str, Entry] = {}
    for line in _whole_lines(folder):
        try:
            entries[line["topic"]] = Entry(**{**line, "files": tuple(line["files"])})
        except (KeyError, TypeError):
            continue  # the line at the begin or the end
    return list(entries.values())


def snapshot_gaps(folder: Path) -> Iterator[tuple[str, str]]:
    """What a snapshot was to save and did not: a subject and a sentence for each; none where the folder is none."""
    entries = saved_entries(folder)
    for entry in entries:
        if entry.status == "failed":
            yield entry.topic, f"The snapshot could not save this topic: {entry.note}."
        missing = [name for name in entry.files if entry.status == "saved" and not (folder / name).is_file()]
        if missing:
            yield entry.topic, f"The snapshot saved {missing[0]}, which is not in the folder any more."
    if (folder / INDEX_NAME).is_file() and not any("finished_ms" in line for line in _whole_lines(folder)):
        yield INDEX_NAME, f"The snapshot was not finished: {len(entries)} topics of it were tried."


def snapshot_globs(folder: str) -> tuple[str, ...] | None:
    """The topics that a finished snapshot was to save; None where the folder is none, or is not finished."""
    lines = list(_whole_lines(Path(folder)))
    globs = lines[0].get("topics") if lines and any("finished_ms" in line for line in lines) else None
    return tuple(map(str, globs)) if isinstance(globs, list) and globs else None


def snapshot_begin_ms(folder: Path) -> int | None:
    """When a snapshot was begun, which listed its topics later; None where nothing says."""
    begun_ms = next(_whole_lines(folder), {}).get("begun_ms")
    return begun_ms if isinstance(begun_ms, int) else None


def _whole_lines(folder: Path) -> Iterator[dict[str, Any]]:
    """The lines of an index that are JSON objects: a kill may have cut one short."""
    path = folder / INDEX_NAME
    for text in path.read_bytes().splitlines() if path.is_file() else ():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict):
            yield line


def write_file(path: Path, content: bytes) -> None:
    """Write a file that is there as a whole or not at all.

    Raises:
        UsageError: the disk does not take it.
    """
    try:
        with replacing(path) as part:
            part.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
