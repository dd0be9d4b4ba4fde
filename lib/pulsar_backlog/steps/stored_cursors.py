"""Cursor ledgers that lie in the source itself, beside the ledgers of topics: files of bookies hold both.

A dump of the metadata store names the ledger that a cursor writes to; what a subscription acknowledged since that
ledger was begun stands there alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from pulsar_backlog.arguments import source_of
from pulsar_backlog.cluster.stored_values import SavedCursorLedger
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.internals.reading import CopyReader
from pulsar_backlog.internals.references import knowledge_of
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.steps.internal_ledgers import internal_copies

MAX_BYTES = 64 << 20
"""Of the newest entries of one cursor ledger: the newest state is the last entry, or its parts (PIP-381)."""


def with_stored_cursors(context: JobContext, state: ClusterState) -> ClusterState:
    """The state with entries of cursor ledgers that nobody saved and the source holds; others stay as they are."""
    copies = [] if context.options.source is None else list(internal_copies(context))
    if not copies:
        return state
    saved = {one.ledger_id for one in state.cursor_ledgers if one.entries}
    owners = {ledger_id: of for of, ledger_id in knowledge_of(state).cursor_ledgers.items() if ledger_id not in saved}
    copies = [copy for copy in copies if copy.ledger_id in owners]
    source = source_of(context.options, context.live()) if copies else None
    ledgers = [
        SavedCursorLedger(copy.ledger_id, copy.data_uri or "", entries, *owners[copy.ledger_id])
        for copy in copies
        if source is not None and (entries := newest_entries(CopyReader(source, copy).entries()))
    ]
    return replace(state, cursor_ledgers=(*state.cursor_ledgers, *ledgers)) if ledgers else state


def newest_entries(entries: Iterable[tuple[int, bytes]], max_bytes: int = MAX_BYTES) -> dict[int, bytes]:
    """The last entries, as many as fit, and always the last one."""
    newest: deque[tuple[int, bytes]] = deque()
    size = 0
    for entry in entries:
        newest.append(entry)
        size += len(entry[1])
        while size > max_bytes and len(newest) > 1:
            size -= len(newest.popleft()[1])
    return dict(newest)
