"""Stored ledgers against a dump of the metadata store of a real 4.0.8 alone: its lists of ledgers name topics."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.ledgers.inventory import ClusterRecords, settle
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.survey import survey
from pulsar_backlog.reconciliation.compare import reconciled
from pulsar_backlog.reconciliation.findings import findings_of_inventory, tallied
from pulsar_backlog.reconciliation.values import Row
from tests.auditing import DATA, OBJECTS

DUMP = DATA / "cursors" / "clients-metadata-store.json"


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> ClusterState:
    """What the dump says; `/managed-ledgers/lab/s3/persistent/<topic>` are `ManagedLedgerInfo`."""
    folder = tmp_path_factory.mktemp("dump")
    shutil.copy(DUMP, folder)
    return read_cluster_state(folder, {})


def placed(objects: Path, state: ClusterState) -> list[Row]:
    source = open_source(str(objects))
    surveyed = survey(source, take_listing(source))
    return reconciled(settle(surveyed, ClusterRecords.of(state)).copies, state=state)


def test_topics_of_the_dump_are_known(dumped: ClusterState) -> None:
    rows = placed(OBJECTS, dumped)
    of_dump = [row for row in rows if row.topic in dumped.topics and row.stored is not None]
    # Every ledger of these topics is the copy that the broker reads, and none is of a topic that is not known.
    assert {row.judged.verdict for row in of_dump} == {"current"}
    assert {row.topic for row in of_dump} == dumped.topics.keys()
    others = {row.topic for row in rows if row.judged.verdict == "unknown_topic"}
    assert others
    assert not others & dumped.topics.keys()
    (unknown,) = (one for one in findings_of_inventory(tallied(row.row("lab") for row in rows)) if one.code == "S33")
    assert unknown.count == sum(row.judged.verdict == "unknown_topic" for row in rows)


def test_ledgers_that_are_still_open_are_not_missing(dumped: ClusterState) -> None:
    verdicts = {row.judged.verdict for row in placed(OBJECTS, dumped) if row.stored is None}
    assert verdicts == {"not_offloaded"}
