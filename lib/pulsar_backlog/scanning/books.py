"""The scan's books: accounts of units added up to rows of `scans`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pulsar_backlog.ledgers.values import PlannedCopy, ScanUnit
from pulsar_backlog.scanning.accounts import Accounts, UnitAccount, unit_key

_CHANGED = "a second walk, which its rejects are written by, read other ones than the first"


def damaged_units(units: Iterable[ScanUnit], accounts: Accounts) -> list[ScanUnit]:
    """Units that have something for `rejects`."""
    return [unit for unit in units if (account := accounts.get(unit_key(unit))) and account.reject_rows]


def less_what_was_lost(accounts: Accounts, again: Accounts) -> Accounts:
    """Accounts, with units unreadable whose second walk did not give the rejects of the first.

    Such a ledger is not complete, and the next scan reads it again: a live broker may have died between the walks.
    """
    return accounts | {
        key: replace(accounts[key], unreadable=second.unreadable or _CHANGED)
        for key, second in again.items()
        if second.reject_rows != accounts[key].reject_rows
    }


def copy_accounts(units: Iterable[ScanUnit], accounts: Accounts) -> dict[int, list[UnitAccount]]:
    """Accounts of each ledger's units; a unit that never reported counts as unreadable."""
    by_ledger: dict[int, list[UnitAccount]] = {}
    for unit in units:
        account = accounts.get(unit_key(unit), UnitAccount(unreadable="its task did not report"))
        by_ledger.setdefault(unit.ledger_id, []).append(account)
    return by_ledger


def scan_rows(
    copies: Iterable[PlannedCopy], accounts: Mapping[int, list[UnitAccount]], cluster: str
) -> list[dict[str, Any]]:
    """Rows of `scans`, one per copy."""
    return [_row(copy, accounts.get(copy.ledger_id, []), cluster) for copy in copies]


def _row(copy: PlannedCopy, accounts: list[UnitAccount], cluster: str) -> dict[str, Any]:
    total = sum(accounts, UnitAccount())
    unreadable = sum(account.unreadable is not None for account in accounts)
    return {
        "cluster": cluster,
        "topic": copy.topic,
        "ledger_id": copy.ledger_id,
        "copy": copy.copy,
        "data_bytes": copy.data_bytes or 0,
        "data_etag": copy.data_etag,
        "units": len(accounts),
        "frames": total.frames,
        "decoded": total.decoded,
        "rejected": total.rejected,
        "entry_bytes": total.entry_bytes,
        "checksum_valid": total.valid,
        "checksum_mismatch": total.mismatch,
        "checksum_absent": total.absent,
        "expected_entries": copy.expected_entries,
        "expected_bytes": copy.expected_bytes,
        "order_faults": total.order_faults,
        "structure_faults": total.faults,
        "unreadable_units": unreadable,
        "unreadable": total.unreadable,
        "complete": unreadable == 0,
    }
