"""Lists of objects to delete, as the tools of each store take them. Nothing is deleted here.

| place | file | what takes it |
|---|---|---|
| S3 | `delete-0001.json`, 1,000 keys each | `aws s3api delete-objects --delete file://...` |
| S3, unfinished uploads | `abort-uploads.jsonl`, one a line | `aws s3api abort-multipart-upload --cli-input-json` |
| Google | `delete.txt`, addresses | `gcloud storage rm --read-paths-from-stdin` |
| Azure | `delete.txt`, names in the container | `azcopy remove --list-of-files` |
| folder | `delete.nul`, whole paths ended by a NUL | `xargs -0 rm --` |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pulsar_backlog.errors import UsageError
from pulsar_backlog.foreign_text import shell_word
from pulsar_backlog.grouping import groups_of
from pulsar_backlog.json_text import to_json
from pulsar_backlog.private_files import private_file, private_folder

KEYS_AT_ONCE = 1000
"""As many as S3 deletes with one request."""

_PATTERNS = re.compile(r"[*?\[\]#\n\r\0]")
"""What gcloud takes for a pattern or a generation, and what ends a line."""
_LINE_ENDS = re.compile(r"[\n\r\0]")
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""What XML, in which S3 is asked, cannot hold; one such key fails its whole list."""
_NOT_A_NAME = "\ufffd"
"""Stands in a path for bytes that are no UTF-8: the file is called otherwise."""


@dataclass(frozen=True)
class Place:
    """Where the objects lie.

    Attributes:
        kind: `s3`, `gs`, `azure` or `folder`.
        name: bucket, container or folder.
        prefix: what stands before the paths, ending at a slash where it is not empty.
    """

    kind: str
    name: str
    prefix: str

    @classmethod
    def of(cls, source: str) -> Place:
        """The place that SOURCE of an audit names.

        Raises:
            UsageError: nothing can be deleted there.
        """
        scheme, separator, rest = source.partition("://")
        if not separator:
            return cls("folder", source, f"{source.rstrip('/')}/")
        name, _, prefix = rest.partition("/")
        prefix = prefix.strip("/")
        kinds = {"s3": "s3", "gs": "gs", "az": "azure", "abfss": "azure"}
        if scheme not in kinds:
            raise UsageError(
                f"--delete-list: {source} is neither a folder nor a bucket: only its cluster deletes there"
            )
        return cls(kinds[scheme], name.partition("@")[0], f"{prefix}/" if prefix else "")


@dataclass
class Lists:
    """What was written.

    Attributes:
        objects: names on the lists.
        uploads: unfinished uploads on the list.
        left_out: names that a list cannot spell.
        commands: what to type, list by list.
    """

    objects: int = 0
    uploads: int = 0
    left_out: int = 0
    commands: list[str] = field(default_factory=list)


def write_lists(folder: Path, place: Place, rows: Iterable[Mapping[str, object]]) -> Lists:
    """Write the lists of rows with `objects` and `upload_id` into a folder that is empty.

    Raises:
        UsageError: the folder holds something, or cannot be made or written to.
    """
    private_folder(folder)
    if any(folder.iterdir()):
        raise UsageError(
            f"--delete-list {folder}: the folder holds files already, perhaps an older list: name an empty folder"
        )
    done = Lists()
    try:
        with private_file(folder / "abort-uploads.jsonl") as aborts:
            names = _names(rows, place, done, lambda line: aborts.write(f"{line}\n".encode("ascii")))
            _WRITERS[place.kind](folder, place, names, done)
    except OSError as error:
        raise UsageError(f"--delete-list {folder}: {error.strerror}") from error
    if done.uploads:
        done.commands.append(
            f'while IFS= read -r line; do aws s3api abort-multipart-upload --cli-input-json "$line"; done '
            f"< {shell_word(str(folder / 'abort-uploads.jsonl'))}"
        )
    else:
        (folder / "abort-uploads.jsonl").unlink()
    return done


def _names(
    rows: Iterable[Mapping[str, object]], place: Place, done: Lists, abort: Callable[[str], object]
) -> Iterator[str]:
    """Keys or paths of objects; what is an upload is written to its own list on the way."""
    for row in rows:
        objects = row["objects"]
        for path in objects if isinstance(objects, list) else ():
            name = place.prefix + str(path)
            if row["upload_id"] is None:
                yield name
            elif place.kind == "s3":
                done.uploads += 1
                abort(to_json({"Bucket": place.name, "Key": name, "UploadId": row["upload_id"]}))


def _for_s3(folder: Path, place: Place, names: Iterator[str], done: Lists) -> None:
    number = 0
    for number, keys in enumerate(groups_of(_spelled(names, _NO_XML, done), KEYS_AT_ONCE), 1):
        path = folder / f"delete-{number:04d}.json"
        with private_file(path) as file:
            file.write(to_json({"Objects": [{"Key": key} for key in keys], "Quiet": True}).encode("ascii"))
        done.objects += len(keys)
    if number:
        done.commands.append(
            f"for list in {shell_word(str(folder))}/delete-*.json; do aws s3api delete-objects "
            f'--bucket {shell_word(place.name)} --delete "file://$list"; done'
        )


def _for_gcs(folder: Path, place: Place, names: Iterator[str], done: Lists) -> None:
    path = folder / "delete.txt"
    _lines(path, (f"gs://{place.name}/{name}" for name in names), _PATTERNS, b"\n", done)
    done.commands += [f"gcloud storage rm --read-paths-from-stdin < {shell_word(str(path))}"] if done.objects else []


def _for_azure(folder: Path, place: Place, names: Iterator[str], done: Lists) -> None:
    path = folder / "delete.txt"
    _lines(path, names, _LINE_ENDS, b"\n", done)
    address = f"https://ACCOUNT.blob.core.windows.net/{place.name}"
    line = f"azcopy remove {shell_word(address)} --list-of-files {shell_word(str(path))}"
    done.commands += [line] if done.objects else []


def _for_folder(folder: Path, place: Place, names: Iterator[str], done: Lists) -> None:
    path = folder / "delete.nul"
    _lines(path, names, re.compile(_NOT_A_NAME), b"\0", done)
    done.commands += [f"xargs -0 rm -- < {shell_word(str(path))}"] if done.objects else []


def _lines(path: Path, names: Iterable[str], unfit: re.Pattern[str], end: bytes, done: Lists) -> None:
    """A list of names with what ends each."""
    with private_file(path) as file:
        for name in _spelled(names, unfit, done):
            file.write(name.encode() + end)
            done.objects += 1


def _spelled(names: Iterable[str], unfit: re.Pattern[str], done: Lists) -> Iterator[str]:
    """Names that a list can spell; others are counted only."""
    for name in names:
        if unfit.search(name):
            done.left_out += 1
        else:
            yield name


_WRITERS = {"s3": _for_s3, "gs": _for_gcs, "azure": _for_azure, "folder": _for_folder}
