"""What is to be said of internal ledgers, kind by kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pulsar_backlog.counting import counted
from pulsar_backlog.findings import MAX_EVIDENCE, Finding

_CODES = {"lost": "S60", "leaked": "S61"}
_WORDS = {
    "S60": ("internal ledger is lost", "internal ledgers are lost"),
    "S61": ("internal ledger is kept and needed by nobody", "internal ledgers are kept and needed by nobody"),
    "S62": ("internal ledger cannot be read whole", "internal ledgers cannot be read whole"),
}


def findings_of_internals(rows: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """Findings about rows of `internal_ledgers`: one for each code and kind."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        code = _CODES.get(row["verdict"])
        if code is None and row["unread_entries"] and row["kind"] != "unknown":
            code = "S62"
        if code is not None:
            groups.setdefault((code, row["kind"]), []).append(row)
    for (code, kind), some in sorted(groups.items(), key=lambda item: item[0]):
        evidence = tuple(f"ledger {row['ledger_id']}: {row['name'] or 'without a name'}" for row in some[:MAX_EVIDENCE])
        words = f"{counted(len(some), *_WORDS[code])} ({kind.replace('_', ' ')}): {some[0]['reason']}"
        yield Finding(code, kind, words, count=len(some), evidence=evidence, incomplete=code == "S62")
