"""What a file of a bookie is, by its name.

```
<dir>/current/<hex>.log                          entry log
<dir>/current/<hex>.log.compacting               one that compaction is writing
<dir>/current/<hex>.log.<hex>.compacted          one that it has written: a second name of an entry log
<dir>/current/<hex>.txn                          journal
<dir>/current/ledgers, locations, lastMark, …    index and marks, which are not read
```
Numbers have no leading zeros; that tells an entry log from a write-ahead log of RocksDB (`000004.log`).

Source: https://github.com/apache/bookkeeper/blob/9590a97f/bookkeeper-server/src/main/java/org/apache/bookkeeper/bookie/DefaultEntryLogger.java
"""

from __future__ import annotations

import re
from typing import Literal

Role = Literal["entry log", "journal", "other"]

_HEX = "(?:0|[1-9a-f][0-9a-f]*)"
_ENTRY_LOG = re.compile(rf"{_HEX}\.log(\.compacting|(\.{_HEX})?\.compacted)?")
_JOURNAL = re.compile(rf"{_HEX}\.txn")
_CURRENT = "current"


def role_of(folder: str, name: str) -> Role | None:
    """What a file is to a bookie, or None where nothing says that it is a bookie's."""
    parts = folder.split("/")
    if _CURRENT in parts and parts[-1] != _CURRENT:
        return "other"  # the index
    if _ENTRY_LOG.fullmatch(name):
        return "entry log"
    if _JOURNAL.fullmatch(name):
        return "journal"
    return "other" if parts[-1] == _CURRENT else None
