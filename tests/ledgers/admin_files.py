"""Saved admin JSON that knows the ledgers of a folder of objects, for storage that names no topics."""

from __future__ import annotations

import json
from pathlib import Path

from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.store import open_source


def save_admin(objects: Path, admin: Path) -> None:
    """What a broker would say of the topics of some objects, one ledger each."""
    admin.mkdir()
    for copy in take_inventory(open_source(str(objects))).copies:
        ledger = {"ledgerId": copy.ledger_id, "entries": copy.expected_entries, "size": copy.expected_bytes}
        tenant, namespace, topic = (copy.topic or "").removeprefix("persistent://").split("/")
        name = f"{tenant}__{namespace}__{topic}.internalStats.json"
        last = f"{copy.ledger_id}:{(copy.expected_entries or 0) - 1}"
        (admin / name).write_text(json.dumps({"ledgers": [ledger], "lastConfirmedEntry": last, "state": "Terminated"}))
