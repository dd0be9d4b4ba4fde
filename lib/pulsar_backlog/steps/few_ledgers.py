"""The inventory of a place with as many objects as one process may hold; of more see `many_ledgers.py`."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.ledgers.sorted_ids import LedgerIds
from pulsar_backlog.reconciliation.values import Row
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.findings import replace_findings
from pulsar_backlog.steps.gone_ledgers import Missing, note_gone
from pulsar_backlog.steps.internal_ledgers import store_internal_copies
from pulsar_backlog.steps.known_results import KnownResults
from pulsar_backlog.steps.known_state import scope_in, state_of
from pulsar_backlog.steps.many_ledgers import Listed, nothing_in_scope
from pulsar_backlog.steps.source_inventory import take_inventory
from pulsar_backlog.tables import TABLES


def take_few(context: JobContext, listed: Listed) -> dict[str, int]:
    """Examine, compare, write what one process can hold; rows by table."""
    known_results = KnownResults(context, listed.source)
    state_by_ids = partial(state_of, context, documents=known_results.documents)
    inventory, findings, placed, state = take_inventory(
        listed.source, listed.listing, listed.uploads, state_by_ids, known_results.copies
    )
    known_results.store()
    scope = scope_in(context)
    stored = LedgerIds(pa.array([copy.ledger_id for copy in inventory.copies if copy.selected], pa.int64()))
    missing = note_gone(context, scope, stored, findings, state)
    copies = [copy for copy in inventory.copies if scope.holds(copy)]
    left_out = {copy.ledger_id for copy in inventory.copies} - {copy.ledger_id for copy in copies}
    part = context.slice.without(ledger_id=missing.unseen)
    if not scope.is_everything:
        part = part.where(ledger_id=[copy.ledger_id for copy in copies] + missing.gone)
    context.store.replace(TABLES["ledgers"], [copy.row(context.cluster) for copy in copies], part)
    store_internal_copies(context, inventory.internal)
    store_inventory(context, placed, scope, missing)
    in_scope = [one for one in (*findings, *listed.findings, *missing.findings) if one.ledger_id not in left_out]
    if inventory.copies and not copies:
        in_scope.append(nothing_in_scope())
    replace_findings(context, in_scope, left_out)
    return {"ledgers": len(copies), "inventory": len(placed), "findings": len(in_scope)}


def store_inventory(context: JobContext, placed: list[Row], scope: Scope, missing: Missing) -> None:
    """Replace what `inventory` says of this cluster; of the ledgers asked for, where not all were."""
    part = context.slice.without(ledger_id=missing.unseen)
    if not scope.is_everything:
        placed = [row for row in placed if scope.names(row.topic) and scope.holds_id(row.ledger_id)]
        part = part.where(ledger_id=[row.ledger_id for row in placed] + missing.gone)
    context.store.replace(TABLES["inventory"], [row.row(context.cluster) for row in placed], part)
