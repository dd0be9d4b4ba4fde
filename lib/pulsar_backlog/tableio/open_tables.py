"""Tables that delta-rs opened in local folders, kept while their logs stay as they are.

A job asks for the state of some forty tables several times, and delta-rs takes milliseconds for each: in an audit of
ten jobs as long as a small job takes. A log changes by a file that comes or goes, never within one.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from pathlib import Path

from deltalake import DeltaTable

MAX_TABLES = 128
"""Tables kept at once: those of two audits."""

_Mark = tuple[int, ...]
_opened: OrderedDict[str, tuple[DeltaTable, _Mark]] = OrderedDict()


def opened_table(folder: Path, log: Path) -> DeltaTable:
    """The table in a folder as its log has it now, which others may have too: nobody changes the object.

    Args:
        folder: of the table.
        log: its log's folder, which is there.

    Raises:
        TableNotFoundError, DeltaError, OSError: as of delta-rs.
    """
    key = os.path.abspath(folder)  # noqa: PTH100 - links stay as they are named
    before = _opened.get(key)
    if before is not None and before[1] == _mark(log, before[0].version()):
        _opened.move_to_end(key)
        return before[0]
    table = DeltaTable(folder)
    _opened.pop(key, None)
    mark = _mark(log, table.version())
    if mark is not None:
        _opened[key] = table, mark
        while len(_opened) > MAX_TABLES:
            _opened.popitem(last=False)
    return table


def _mark(log: Path, version: int) -> _Mark | None:
    """What tells a log from any later one; None where that is not sure.

    The folder comes first: a commit after that has its name already, or moves the time of the folder. Times of folders
    are coarse, but of two commits in one tick the second has a name that is looked for. The newest commit itself is
    looked at too: a file that somebody damaged is found as it is.
    """
    try:
        folder, newest = os.stat(log), os.stat(log / f"{version:020}.json")  # noqa: PTH116 - all of both are used
    except OSError:
        return None
    if os.path.lexists(log / f"{version + 1:020}.json"):
        return None
    of_newest = newest.st_ino, newest.st_size, newest.st_mtime_ns, newest.st_ctime_ns
    return folder.st_dev, folder.st_ino, folder.st_mtime_ns, folder.st_ctime_ns, *of_newest
