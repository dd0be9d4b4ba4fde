"""Every kind of finding, by code."""

from pulsar_backlog.findings import broker, chunks, clients, cursors, entries, export, storage
from pulsar_backlog.findings.kinds import FindingKind

CATALOGUE: dict[str, FindingKind] = {
    kind.code: kind
    for family in (storage, entries, chunks, clients, broker, export, cursors)
    for kind in family.KINDS
}
"""Every finding this program can make, by code."""
