"""How long each ledger of a topic is: from the saved folder and from what is stored. No Spark here."""

from __future__ import annotations

from collections.abc import Mapping

from pulsar_backlog.cluster.stored_values import StoredValue
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.errors import DecodeError
from pulsar_backlog.findings import Finding
from pulsar_backlog.wire.ledger_list import decode_ledger_list

Lengths = Mapping[int, int | None]
"""Entries by ledger id."""


def ledger_lengths(
    state: ClusterState, stored: Mapping[str, Lengths], findings: list[Finding]
) -> dict[str, dict[int, int | None]]:
    """Entries of each ledger by topic and ledger, None while it is open or where nothing says.

    Args:
        state: what the folder says.
        stored: the same of the ledgers in the source.
        findings: gets what could not be read.
    """
    lengths: dict[str, dict[int, int | None]] = {}
    for value in state.stored_values:
        if value.cursor is None:
            _add_list(lengths.setdefault(value.topic, {}), value, findings)
    for topic in state.topics.values():
        of_topic = lengths.setdefault(topic.topic, {})
        for ledger in topic.ledgers:
            _longer(of_topic, ledger.ledger_id, ledger.entries)
        if topic.last_confirmed is not None and topic.last_confirmed[0] in of_topic:
            _longer(of_topic, topic.last_confirmed[0], topic.last_confirmed[1] + 1)
    for name, copies in stored.items():
        for ledger_id, entries in copies.items():
            _longer(lengths.setdefault(name, {}), ledger_id, entries)
    return lengths


def _longer(lengths: dict[int, int | None], ledger_id: int, entries: int | None) -> None:
    had = lengths.get(ledger_id)
    lengths[ledger_id] = entries if had is None else max(had, entries or 0)


def _add_list(lengths: dict[int, int | None], value: StoredValue, findings: list[Finding]) -> None:
    try:
        ledgers = decode_ledger_list(value.value).ledgers
    except DecodeError as error:
        message = f"{value.file}: not a list of ledgers: {error}."
        findings.append(
            Finding(
                "K10", f"{value.topic} in {value.file}", message, topic=value.topic, reason="read from the saved file"
            )
        )
        return
    for ledger in ledgers:
        _longer(lengths, ledger.ledger_id, ledger.entries)
