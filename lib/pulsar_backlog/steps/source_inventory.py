"""What lies in the source, and what the broker's metadata say of it where they are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pulsar_backlog.cluster.absent import findings_of_absent
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.findings import Finding
from pulsar_backlog.ledgers.inventory import ClusterRecords, Inventory, settle
from pulsar_backlog.ledgers.known_copies import KnownCopies
from pulsar_backlog.ledgers.listing import Listing
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.stored_objects import Upload
from pulsar_backlog.ledgers.survey import survey
from pulsar_backlog.reconciliation.compare import reconciled
from pulsar_backlog.reconciliation.findings import findings_of_inventory, tallied
from pulsar_backlog.reconciliation.values import Row


def take_inventory(
    source: Source,
    listing: Listing,
    uploads: Sequence[Upload],
    state_by: Callable[[Mapping[int, str]], ClusterState | None],
    earlier: KnownCopies | None = None,
) -> tuple[Inventory, list[Finding], list[Row], ClusterState | None]:
    """The source's inventory, all findings, what is stored against what the broker knows, and that, if anything.

    Args:
        source: where to look.
        listing: of it.
        uploads: that were never finished.
        state_by: what is known of the cluster, given topics by ledger; None where nothing is.
        earlier: what is known of copies by earlier audits.
    """
    surveyed = survey(source, listing, earlier=earlier)
    state = state_by(surveyed.topics())
    if state is None:
        inventory = settle(surveyed, ClusterRecords({}, {}))
        return inventory, inventory.findings, reconciled(inventory.copies, uploads, None, surveyed.streamed), None
    records_of_cluster = ClusterRecords.of(state)
    inventory = settle(surveyed, records_of_cluster)
    stored = {copy.ledger_id for copy in inventory.copies}
    rows = reconciled(inventory.copies, uploads, state, surveyed.streamed)
    of_state = [
        *state.findings,
        *findings_of_absent(state, stored),
        *findings_of_inventory(tallied(row.row("") for row in rows), not listing.unreadable),
    ]
    return inventory, [*inventory.findings, *of_state], rows, state
