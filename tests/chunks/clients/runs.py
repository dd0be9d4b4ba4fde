"""Real runs of real clients, and the same run played by a model.

See PROVENANCE.md in tests/data/clients and tests/data/client_runs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulsar_backlog.chunks.clients.events import LogEntry
from pulsar_backlog.chunks.clients.journal import Journal
from pulsar_backlog.chunks.clients.session import Session
from pulsar_backlog.chunks.clients.settings import ClientSettings
from pulsar_backlog.terms import Position

DATA = Path(__file__).parents[2] / "data" / "clients"
MORE_DATA = Path(__file__).parents[2] / "data" / "client_runs"
HOLD_AFTER_LOSS_MS = 20_000
"""How long a run is played whose client died, so that it never said when it ended."""


@dataclass(frozen=True)
class Run:
    """One consumer run as it was recorded.

    Attributes:
        name: topic, subscription and pass.
        entries: the whole log.
        acked_before: entry ids acknowledged by an earlier run of the same subscription.
        facts: what was recorded, as in the data file.
    """

    name: str
    entries: tuple[LogEntry, ...]
    acked_before: frozenset[int]
    facts: dict[str, Any]

    def settings(self, until_ms: int) -> ClientSettings:
        """The settings of the run up to a time; a connection lost later is not among them."""
        facts = self.facts
        lost = facts.get("reconnect_ms") is not None and until_ms >= facts["reconnect_ms"]
        return ClientSettings(
            profile=facts["profile"],
            max_pending=facts["max_pending"],
            auto_ack=facts["auto_ack"],
            expiry_ms=facts["expiry_ms"],
            receiver_queue=facts["queue"],
            ack_timeout_ms=facts.get("ack_timeout_ms"),
            subscription="Shared" if facts["type"] == "Shared" else "Exclusive",
            live=facts["live"],
            reconnect_after=(self.entries[-1].position,) if lost else (),
        )


def load_runs(folder: Path = DATA) -> list[Run]:
    """All recorded runs, a second pass with what the first one acknowledged."""
    runs = []
    for path in sorted(folder.glob("*.json")):
        if path.stem == "not_predicted":
            continue
        log = json.loads(path.read_text())
        entries = tuple(_entry(*row) for row in log["entries"])
        first = {run["subscription"]: frozenset(run["final"]) for run in log["runs"] if run["pass"] == 1}
        for facts in log["runs"]:
            again = facts["pass"] == 2
            name = f"{path.stem}/{facts['subscription']}{'/again' if again else ''}"
            runs.append(Run(name, entries, first[facts["subscription"]] if again else frozenset(), facts))
    return runs


def _entry(ledger_id: int, entry_id: int, uuid: str, publish_time_ms: int, *others: Any) -> LogEntry:
    return LogEntry((ledger_id, entry_id), 0, uuid, (uuid, publish_time_ms), *others)


@dataclass(frozen=True)
class Played:
    """What the model makes of a run, in the terms of the recording.

    Attributes:
        delivered: entry ids of each delivered message, in order.
        acknowledged: entry ids, those of an earlier run included.
        session: the session at its end.
    """

    delivered: list[list[int]]
    acknowledged: list[int]
    session: Session


def play(run: Run, until_ms: int | None) -> Played:
    """Play a run up to a time, or to the end of a client that broke."""
    journal = Journal()
    connected = run.facts["subscribed_ms"] or run.entries[-1].stored_ms + 60_000
    until_ms = until_ms or connected + HOLD_AFTER_LOSS_MS
    session = Session(run.settings(until_ms), journal, connected)
    for entry in run.entries:
        if entry.position[1] not in run.acked_before:
            session.offer(entry)
    session.finish(until_ms)
    delivered = [[entry_id for _ledger, entry_id in delivery.positions] for delivery in journal.deliveries]
    acknowledged: set[Position] = set(journal.acknowledged)
    return Played(delivered, sorted(run.acked_before | {entry_id for _ledger, entry_id in acknowledged}), session)
