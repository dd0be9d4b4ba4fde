"""Real servers of all clouds for this folder's tests; `make test-stores` runs them, `make test` leaves them out."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pulsar_backlog.ledgers import store as places
from pulsar_backlog.ledgers.buckets import patience, web
from tests.auditing import EXPECTED, OBJECTS
from tests.ledgers.faulty import FaultyProxy, faulty
from tests.stores.servers import RUNNING, Store

# Installing them takes minutes the first time: only who asks for it pays.
collect_ignore_glob = [] if os.environ.get("PULSAR_BACKLOG_TEST_STORES") else ["test_*.py"]

LEDGERS = (22, 24, 28, 292, 296)
"""Of the bundled backlog: broken chunk sets, batches, codecs."""

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Store]]:
    """One server of each kind that is asked for, for the whole run."""
    with ExitStack() as stack:
        running: dict[str, Store] = {}

        def start(kind: str) -> Store:
            if kind not in running:
                running[kind] = stack.enter_context(RUNNING[kind](tmp_path_factory.mktemp(kind)))
            return running[kind]

        yield start


@pytest.fixture(params=list(RUNNING))
def store(request: pytest.FixtureRequest, started: Callable[[str], Store], clean: pytest.MonkeyPatch) -> Store:
    """Each server in turn, with its credentials in the environment."""
    found = started(request.param)
    for name, value in found.environment.items():
        clean.setenv(name, value)
    return found


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> pytest.MonkeyPatch:
    """No credentials of any cloud, and no place where some may lie."""
    for name in os.environ:
        if name.startswith(("AWS_", "AZURE_", "GOOGLE_", "STORAGE_EMULATOR", "IDENTITY_", "CLOUDSDK_")):
            monkeypatch.delenv(name)
    empty = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(empty))
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(empty))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    places._opened.cache_clear()
    return monkeypatch


@pytest.fixture
def name() -> str:
    """Of a bucket that there is not yet."""
    return f"bucket-{next(_NUMBERS)}"


@pytest.fixture
def proxy(store: Store) -> Iterator[FaultyProxy]:
    with faulty(store.endpoint, keeps_host=store.kind != "gcs") as running:  # fake-gcs-server knows itself by it
        yield running


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short waits, and a store that stands still is noticed soon."""
    monkeypatch.setattr(patience, "FIRST_WAIT_SECONDS", 0.001)
    monkeypatch.setattr(web, "SILENCE_SECONDS", 0.5)


@pytest.fixture(scope="session")
def ledgers() -> dict[str, tuple[bytes, dict[str, str]]]:
    """Real objects, with the user metadata that the broker's offloader gave them."""
    known = json.loads((EXPECTED / "objects.json").read_text())
    paths = [path for path in OBJECTS.iterdir() if int(path.name.split("-ledger-")[1].split("-")[0]) in LEDGERS]
    return {path.name: (path.read_bytes(), known[path.name]["metadata"]) for path in paths}


@pytest.fixture(scope="session")
def folder(ledgers: dict[str, tuple[bytes, dict[str, str]]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same objects in a folder."""
    folder = tmp_path_factory.mktemp("objects")
    for name, (body, _) in ledgers.items():
        (folder / name).write_bytes(body)
    return folder
