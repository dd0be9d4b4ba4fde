"""Every kind of finding, by code."""

from pulsar_backlog.findings import (
    broker,
    chunks,
    clients,
    cursors,
    differences,
    entries,
    export,
    holdups,
    internals,
    storage,
)
from pulsar_backlog.findings.kinds import FindingKind

CATALOGUE: dict[str, FindingKind] = {
    kind.code: kind
    for family in (storage, internals, entries, chunks, clients, holdups, broker, export, cursors, differences)
    for kind in family.KINDS
}
"""Every finding this program can make, by code."""


def count_sentences(*codes: str) -> dict[str, str]:
    """What findings of these codes count, by code.

    Raises:
        KeyError: a code has no such sentence.
    """
    sentences = {code: kind.counted for code, kind in CATALOGUE.items() if kind.counted}
    return {code: sentences[code] for code in codes}
