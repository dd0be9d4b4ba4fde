"""Which version each table had when the last run ended; a table that is older now was changed from outside.

Delta reads a log whose newest commits are gone as the table that it was before them, without a word. The other tables
then count on rows that are not there any more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.tableio.beside import Beside, beside, is_reached
from pulsar_backlog.tableio.places import LOG_FOLDER
from pulsar_backlog.tables import TABLES

NAME = "tables/versions.json"
"""Within the folder of the tables: who puts all of an older one back has put this back too."""
MAY_GO = ("messages",)
"""Tables that no other counts on, and that hold payloads: they may be deleted."""

_AT_ONCE = 16
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\b.*\.parquet")


def check_versions(out: str | None) -> None:
    """Look whether all tables are as new as the last run left them.

    Raises:
        UsageError: one is not.
        SourceError: the bucket cannot be read.
    """
    if out is None or not is_reached(out):
        return
    files = beside(out)
    recorded = _recorded(files)
    for name, version in _versions(files, recorded).items():
        if version < recorded[name] and (name not in MAY_GO or version >= 0):
            raise _went_back(out, name, version, recorded[name])


def check_version(out: str, endpoint: str | None, versions: Mapping[str, int]) -> None:
    """The same of tables that are open, by name, for who reads only.

    Raises:
        UsageError: one is older than it was.
        SourceError: the bucket cannot be read.
    """
    recorded = _recorded(beside(out, endpoint))
    for name, version in versions.items():
        if version < recorded.get(name, -1) and (name not in MAY_GO or version >= 0):
            raise _went_back(out, name, version, recorded[name])


def record_versions(out: str | None) -> None:
    """Note which version each table has; of an address that only Spark reaches, nothing is."""
    if out is None or not is_reached(out):
        return
    files = beside(out)
    versions = {name: version for name, version in _versions(files, TABLES).items() if version >= 0}
    files.write(NAME, json.dumps(versions, indent=1) + "\n", is_private=True)  # beside payloads of an export


def _recorded(files: Beside) -> dict[str, int]:
    try:
        text = files.read(NAME)
    except FileNotFoundError:
        return {}
    except SourceError as error:
        if error.reason == "not_found":
            return {}
        raise
    with suppress(ValueError, AttributeError):
        document = json.loads(text)
        return {str(name): int(version) for name, version in document.items() if name in TABLES}
    raise UsageError(f"{files.uri(NAME)} is damaged: audit again with a new --out")


def _versions(files: Beside, names: Collection[str]) -> dict[str, int]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip(names, pool.map(lambda name: _version(files, name), names), strict=True))


def _version(files: Beside, name: str) -> int:
    """Up to which version a table's log is whole, -1 where there is none."""
    listed = files.names(f"tables/{name}/{LOG_FOLDER}")
    commits = {int(match[1]) for one in listed if (match := _COMMIT.fullmatch(one))}
    version = max((int(match[1]) for one in listed if (match := _CHECKPOINT.fullmatch(one))), default=-1)
    while version + 1 in commits:
        version += 1
    return version


def _went_back(out: str, name: str, version: int, recorded: int) -> UsageError:
    now = f"is at version {version}" if version >= 0 else "is gone"
    return UsageError(
        f"the table {name} in {out} {now}, and the last run left it at version {recorded}: commits of its log are "
        "missing, so that totals would be wrong: put the whole folder tables/ back as it was, or audit again with a "
        "new --out"
    )
