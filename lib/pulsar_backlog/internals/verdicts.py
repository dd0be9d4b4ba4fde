"""What is to be said of an internal ledger: `ok`, `lost`, `leaked` or `cannot_tell`, and why.

| pointed to | BookKeeper keeps it | its bytes are here | verdict |
|---|---|---|---|
| yes | no | | `lost` |
| yes | yes, or not known | yes, all read | `ok` |
| yes | yes, or not known | yes, some not read | `cannot_tell` |
| yes | yes, or not known | no | `cannot_tell` |
| no | no | | `ok`: it was deleted |
| no | yes | | `leaked`, where whoever would point to it was saved, and it is no younger than what was saved |
| not known | | | `cannot_tell` |

"Keeps it" is the ledger's node in the metadata store: without it no client opens the ledger, and bookies free its
bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pulsar_backlog.counting import counted
from pulsar_backlog.internals.kinds import COMPACTION_CURSOR, LedgerName, topic_of_schema
from pulsar_backlog.internals.references import Knowledge
from pulsar_backlog.wire.names import managed_ledger_of_topic

Verdict = Literal["ok", "lost", "leaked", "cannot_tell"]
VERDICTS: tuple[Verdict, ...] = ("lost", "leaked", "cannot_tell", "ok")
"""The worst first."""

YOUNG_MS = 60_000
"""What was changed so little before the newest node may have been saved in the middle of a change."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of a ledger: entries, how many of them no decoder reads, and whether the walk met damage."""

    entries: int
    unread: int
    faults: int


def judge(
    knowledge: Knowledge, ledger_id: int, name: LedgerName | None, reading: Reading | None
) -> tuple[Verdict, str]:
    """The verdict on a ledger, and its reason as a sentence."""
    holders = [one.holder for one in knowledge.pointers.get(ledger_id, ())]
    is_kept = ledger_id in knowledge.nodes.ledgers if knowledge.nodes.ledgers else None
    if holders:
        return _pointed(holders, is_kept, reading)
    if not knowledge.nodes.ledgers:
        return "cannot_tell", "Nothing that was saved of the metadata store says who needs it."
    if not is_kept:
        return "ok", "BookKeeper has deleted it, and nothing points to it; bookies free its bytes by themselves."
    doubt = _doubt(knowledge, ledger_id, name)
    if doubt:
        return "cannot_tell", doubt
    return "leaked", f"BookKeeper keeps it, and nothing points to it: {_searched(name)}."


def _pointed(holders: list[str], is_kept: bool | None, reading: Reading | None) -> tuple[Verdict, str]:
    words = holders[0] if len(holders) == 1 else f"{holders[0]} and {len(holders) - 1} more"
    if is_kept is False:
        return "lost", f"BookKeeper has no such ledger, and it is needed: {words}."
    if reading is None:
        return "cannot_tell", f"Its bytes are not in this source; it is needed: {words}."
    if reading.unread:
        unread = counted(reading.unread, "entry", "entries")
        unread_words = f"{unread} of {reading.entries} cannot be read; another bookie may hold whole copies"
        return "cannot_tell", f"{unread_words}. Needed: {words}."
    if reading.faults:
        return "cannot_tell", f"What is here is not whole; another bookie may hold the rest. Needed: {words}."
    return "ok", f"It can be read, and is needed: {words}."


def _doubt(knowledge: Knowledge, ledger_id: int, name: LedgerName | None) -> str | None:
    """Why nobody can say that nothing points to a ledger; None where that is sure."""
    if name is None or name.kind is None:
        return "Nothing says what it is for."
    if knowledge.undecodable:
        return f"Some values of the metadata store cannot be read, such as that of {min(knowledge.undecodable)}."
    if _is_young(knowledge, ledger_id, name):
        return "It, or what would point to it, was changed just before the metadata store was saved."
    if name.kind == "schema":
        return None if knowledge.nodes.schemas else "No locator of a schema was saved."
    if name.topic is None:
        return "Nothing says which topic it belongs to."
    try:
        namespace = "/".join(managed_ledger_of_topic(name.topic).split("/")[:2])
    except ValueError:
        return "Nothing says which topic it belongs to."
    if namespace not in knowledge.nodes.namespaces:
        return f"Nothing was saved of the topics of {namespace}."
    cursor_ledger = knowledge.cursor_ledgers.get((name.topic, COMPACTION_CURSOR))
    if name.kind == "compacted" and cursor_ledger is not None and cursor_ledger not in knowledge.read_cursors:
        return f"The cursor of compaction says it in its ledger {cursor_ledger}, which is not here."
    return None


def _is_young(knowledge: Knowledge, ledger_id: int, name: LedgerName) -> bool:
    newest = knowledge.nodes.newest_ms
    if newest is None:
        return ledger_id + 1 >= max(knowledge.nodes.ledgers)
    metadata = knowledge.metadata(ledger_id)
    times = [knowledge.nodes.changed_ms.get(ledger_id), metadata.created_ms if metadata else None]
    if name.kind != "schema" and name.topic is not None:
        cursor = COMPACTION_CURSOR if name.kind == "compacted" else name.subscription
        times.append(knowledge.changed_ms.get((name.topic, cursor)))
    return max((time for time in times if time is not None), default=newest) > newest - YOUNG_MS


def _searched(name: LedgerName | None) -> str:
    if name is None or name.kind is None:
        return "no topic lists it"
    if name.kind == "schema":
        return f"no version of schema {name.schema_id} lies in it"
    if name.subscription is not None:
        return f"{name.subscription} on {name.topic} does not name it"
    return f"{name.topic} does not name it"


def judge_schema_version(
    knowledge: Knowledge, schema_id: str, version: int, ledger_id: int | None, is_read: bool
) -> tuple[Verdict, str]:
    """The verdict on one version of a schema that a ledger claims to hold, or that only the store names.

    Args:
        knowledge: of pointers.
        schema_id: which schema.
        version: which of its versions.
        ledger_id: where it lies; None where nothing says.
        is_read: whether its entry was read.
    """
    if ledger_id is None:
        return "cannot_tell", "The metadata store does not say where it lies."
    is_kept = ledger_id in knowledge.nodes.ledgers if knowledge.nodes.ledgers else None
    locator = knowledge.locators.get(schema_id, ())
    if all(one.position is None or one.position[0] != ledger_id for one in locator):
        return judge(knowledge, ledger_id, LedgerName("schema", topic_of_schema(schema_id), schema_id=schema_id), None)
    if is_kept is False:
        return "lost", "The metadata store names it, and BookKeeper has no such ledger: nobody can read its messages."
    if is_read:
        return "ok", "The metadata store names it, and it can be read."
    return "cannot_tell", "The metadata store names it; its bytes are not in this source, or cannot be read."
