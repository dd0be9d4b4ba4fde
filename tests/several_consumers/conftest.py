"""One real broker after the other, each for all tests of this folder; `make test-consumers` runs them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pulsar
import pytest
from pulsar import InitialPosition

from tests.broker.conftest import NAMESPACE, Admin, admin, client, topic
from tests.broker.process import BRIEF, Broker, running_broker
from tests.java_programs import Program, java, running_program
from tests.several_consumers.group import TYPES, Group
from tests.several_consumers.releases import RELEASES, Release, jars_42

__all__ = ["admin", "client", "topic"]

# Fetching and starting brokers takes minutes the first time: only who asks for it pays.
collect_ignore_glob = [] if os.environ.get("PULSAR_BACKLOG_TEST_CONSUMERS") else ["test_*.py"]

NewGroup = Callable[[str], Group]

_PROGRAM = Path(__file__).with_name("Consumers.java")


@pytest.fixture(scope="session", params=RELEASES, ids=lambda release: release.version)
def release(request: pytest.FixtureRequest) -> Release:
    """The broker's release."""
    found: Release = request.param
    return found


@pytest.fixture(scope="session")
def broker(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running_broker(tmp_path_factory.mktemp("broker"), server=release.server) as running:
        asked = Admin(running)
        asked.request("PUT", "/v2/tenants/lab", {"adminRoles": ["admin"], "allowedClusters": ["standalone"]})
        asked.request("PUT", f"/v2/namespaces/{NAMESPACE}", {})
        yield running


@pytest.fixture(scope="session")
def java_consumers(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Consumers of Java 4.2."""
    logging = f"-Dlog4j2.configurationFile={_PROGRAM.with_name('log4j2.xml')}"
    command = [
        *(java(), "-Xmx128m", *BRIEF, logging, "-cp", f"{jars_42()}/*", str(_PROGRAM)),
        *(broker.service_url, str(broker.token_file)),
    ]
    with running_program(command, tmp_path_factory.mktemp("java"), {"PATH": os.environ["PATH"]}) as program:
        yield program


@pytest.fixture
def group(client: pulsar.Client, java_consumers: Program, admin: Admin, topic: str) -> Iterator[NewGroup]:
    """Makes a subscription of a type; all its consumers leave at the end."""
    made: list[Group] = []

    def new(dispatch: str) -> Group:
        client.subscribe(topic, "s", consumer_type=TYPES[dispatch], initial_position=InitialPosition.Earliest).close()
        made.append(Group(client, java_consumers, admin, topic, dispatch))
        return made[-1]

    yield new
    for one in made:
        one.close()
