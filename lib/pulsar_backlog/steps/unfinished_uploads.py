"""Uploads of a source that were never finished, which an inventory tells of and fingerprints name."""

from __future__ import annotations

from pulsar_backlog.errors import SourceError
from pulsar_backlog.findings import Finding
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.stored_objects import Upload


def unfinished_uploads(source: Source) -> tuple[list[Upload], list[Finding]]:
    """Uploads that were never finished, or a finding that nobody listed them."""
    try:
        return list(source.unfinished() or ()), []
    except SourceError as error:
        from pulsar_backlog.reconciliation.findings import finding_of_uploads  # noqa: PLC0415 - hardly ever

        return [], [finding_of_uploads(error)]
