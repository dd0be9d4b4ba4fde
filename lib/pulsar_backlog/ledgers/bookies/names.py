"""What a file of a bookie is, by its name.

```
<dir>/current/<hex>.log                          entry log
<dir>/current/<hex>.log.compacting               one that compaction is writing
<dir>/current/<hex>.log.<hex>.compacted          one that it has written: a second name of an entry log
<dir>/current/<hex>.txn                          journal
<dir>/current/ledgers/<file>, locations/<file>   index: RocksDB databases (DbLedgerStorage)
<dir>/current/<hex>/<hex>/<ledger, hex>.idx      index: a file for each ledger (InterleavedLedgerStorage)
<dir>/current/lastMark, …                        marks, which are not read
```
Numbers of logs have no leading zeros; that tells an entry log from a write-ahead log of RocksDB (`000004.log`).

Sources: https://github.com/apache/bookkeeper/blob/9590a97f/bookkeeper-server/src/main/java/org/apache/bookkeeper/bookie/DefaultEntryLogger.java
https://github.com/apache/bookkeeper/blob/9590a97f/bookkeeper-server/src/main/java/org/apache/bookkeeper/bookie/IndexPersistenceMgr.java
"""

from __future__ import annotations

import re
from typing import Literal

Role = Literal["entry log", "journal", "index", "other"]

_HEX = "(?:0|[1-9a-f][0-9a-f]*)"
_ENTRY_LOG = re.compile(rf"{_HEX}\.log(\.compacting|(\.{_HEX})?\.compacted)?")
_JOURNAL = re.compile(rf"{_HEX}\.txn")
_CURRENT = "current"
DATABASES = ("locations", "ledgers")
_DATABASE_FILE = re.compile(r"CURRENT|MANIFEST-[0-9]{1,20}|[0-9]{1,20}\.(?:sst|log)")
_LEDGER_FILE = re.compile(rf"({_HEX})\.idx")
_MAX_ID = 2**63 - 1


def ledger_of_file(name: str) -> int | None:
    """The ledger whose index a file is by its name, or None."""
    match = _LEDGER_FILE.fullmatch(name)
    ledger = int(match[1], 16) if match else None
    return ledger if ledger is not None and ledger <= _MAX_ID else None


def role_of(folder: str, name: str) -> Role | None:
    """What a file is to a bookie, or None where nothing says that it is a bookie's."""
    parts = folder.split("/")
    if _CURRENT in parts and parts[-1] != _CURRENT:
        below = parts[len(parts) - parts[::-1].index(_CURRENT) :]
        in_database = len(below) == 1 and below[0] in DATABASES and _DATABASE_FILE.fullmatch(name)
        return "index" if in_database or (len(below) == 2 and ledger_of_file(name) is not None) else "other"
    if _ENTRY_LOG.fullmatch(name):
        return "entry log"
    if _JOURNAL.fullmatch(name):
        return "journal"
    return "other" if parts[-1] == _CURRENT else None
