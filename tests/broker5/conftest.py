"""One cluster of 5.0.0-M1 and one play for all tests of this folder; `make test-broker5` runs them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.broker5.cluster import Cluster, running_clients, running_cluster
from tests.broker5.scenario import Played, play

# Fetching and starting it takes a minute the first time: only who asks for it pays.
collect_ignore_glob = [] if os.environ.get("PULSAR_BACKLOG_TEST_BROKER5") else ["test_*.py"]


@dataclass(frozen=True)
class Stage:
    """A cluster after the play.

    Attributes:
        cluster: that still runs.
        played: what was sent and received.
        dump: folder with a dump of the metadata store, of then.
        bookie: a copy of the bookie's folder, of then.
    """

    cluster: Cluster
    played: Played
    dump: Path
    bookie: Path


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("broker5")
    with running_cluster(folder) as cluster, running_clients(cluster) as clients:
        played = play(cluster, clients)
        dump = folder / "dump"
        dump.mkdir()
        clients("dump", folder / "metadata", dump / "metadata-store.json")
        bookie = folder / "bookie"
        shutil.copytree(folder / "bookkeeper", bookie)  # the entry log as flushed, the rest in the journal
        yield Stage(cluster, played, dump, bookie)
