"""Cutting a copy into units: nothing lost, nothing twice, none too large."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import UNIT_BYTES, Block, LedgerCopy, PlannedCopy
from tests.auditing import DATA

COPY = LedgerCopy(
    topic="persistent://t/n/x", ledger_id=7, copy="uuid", kind="jcloud", managed_ledger=None, data_uri="data",
    index_uri=None, data_bytes=0, index_bytes=None, data_etag=None, expected_entries=None, expected_bytes=None,
    expected_data_bytes=None, ledger_state=None, created_time_ms=None, closed_time_ms=None, offload_complete=None,
    selected=True, status="ok", faults=(), blocks=(), structure_faults=(),
)  # fmt: skip
MIB = 1024 * 1024


def blocks_of(lengths: list[int]) -> tuple[Block, ...]:
    return tuple(Block(sum(lengths[:n]), length, n, None) for n, length in enumerate(lengths))


def test_small_blocks_share_a_unit_and_a_large_one_has_its_own() -> None:
    copy = replace(COPY, blocks=blocks_of([30 * MIB, 30 * MIB, 30 * MIB, 128 * MIB, 5 * MIB, UNIT_BYTES]))
    units = list(units_of(copy))
    assert [[block.length // MIB for block in unit.blocks] for unit in units] == [[30, 30], [30], [128], [5], [64]]
    assert [unit.number for unit in units] == [0, 1, 2, 3, 4]
    assert {(unit.ledger_id, unit.copy, unit.topic, unit.path) for unit in units} == {
        (7, "uuid", "persistent://t/n/x", "data")
    }


def test_nothing_to_scan() -> None:
    assert list(units_of(COPY)) == []
    assert list(units_of(replace(COPY, data_uri=None, blocks=blocks_of([200])))) == []


@given(st.lists(st.integers(128, 3000)), st.integers(1, 5000))
def test_blocks_in_order_in_units_that_fit(lengths: list[int], unit_bytes: int) -> None:
    copy = replace(COPY, blocks=blocks_of(lengths))
    units = list(units_of(copy, unit_bytes))
    assert tuple(block for unit in units for block in unit.blocks) == copy.blocks
    assert all(unit.blocks for unit in units)
    assert all(len(unit.blocks) == 1 or sum(b.length for b in unit.blocks) <= unit_bytes for unit in units)
    for unit, following in itertools.pairwise(units):  # none could have taken the next block too
        assert sum(b.length for b in unit.blocks) + following.blocks[0].length > unit_bytes


@pytest.mark.parametrize("folder", ["backlog/objects", "mapfiles/source"])
def test_a_row_of_ledgers_gives_the_blocks_that_were_found(folder: str) -> None:
    """Also which is the last one: entries behind its promised end are given only there."""
    copies = [copy for copy in take_inventory(open_source(str(DATA / folder))).copies if copy.blocks]
    assert len(copies) > 5
    for copy in copies:
        assert PlannedCopy.from_row(copy.row("lab")).blocks == copy.blocks
