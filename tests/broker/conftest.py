"""One real broker for all tests of this folder; `make test-broker` runs them, `make test` leaves them out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pulsar
import pytest
import urllib3

from tests.broker.process import Broker, running_broker

# Fetching and starting a broker takes a minute the first time: only who asks for it pays.
collect_ignore_glob = [] if os.environ.get("PULSAR_BACKLOG_TEST_BROKER") else ["test_*.py"]

NAMESPACE = "lab/live"


class Admin:
    """The admin API as a test uses it; shares no code with ours."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._http = urllib3.PoolManager(retries=False, timeout=30)

    def request(self, method: str, path: str, body: object = None) -> Any:
        headers = {**self._broker.headers, "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        answer = self._http.request(method, f"{self._broker.admin_url}/admin{path}", headers=headers, body=content)
        assert answer.status < 300, f"{method} {path}: {answer.status} {answer.data[:300]!r}"
        return json.loads(answer.data) if answer.data.strip() else None

    def get(self, topic: str, kind: str) -> Any:
        return self.request("GET", f"{topic_path(topic)}/{kind}")

    def post(self, topic: str, kind: str, body: object = None) -> None:
        self.request("POST", f"{topic_path(topic)}/{kind}", body)

    def cursors(self, topic: str) -> dict[str, tuple[str, str]]:
        """Mark-delete position and individually acknowledged ranges of each subscription.

        Without the broker's own cursor of deduplication, which appears when it likes.
        """
        found = self.get(topic, "internalStats")["cursors"]
        return {
            name: (cursor["markDeletePosition"], cursor["individuallyDeletedMessages"])
            for name, cursor in found.items()
            if name != "pulsar.dedup"
        }


def topic_path(topic: str) -> str:
    """Below `/admin`; V1 topics live in a tree of their own."""
    *namespace, local = topic.removeprefix("persistent://").split("/", 3)
    root = "/v2/persistent" if len(namespace) == 2 else "/persistent"
    encoded = quote(local, safe="").replace(".", "%2E")
    return "/".join([root, *namespace, encoded])


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running_broker(tmp_path_factory.mktemp("broker")) as running:
        admin = Admin(running)
        admin.request("PUT", "/v2/tenants/lab", {"adminRoles": ["admin"], "allowedClusters": ["standalone"]})
        admin.request("PUT", f"/v2/namespaces/{NAMESPACE}", {})
        yield running


@pytest.fixture(scope="session")
def admin(broker: Broker) -> Admin:
    return Admin(broker)


@pytest.fixture
def client(broker: Broker) -> Iterator[pulsar.Client]:
    made = pulsar.Client(
        broker.service_url,
        authentication=pulsar.AuthenticationToken(broker.token_file.read_text()),
        logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error),
    )
    yield made
    made.close()


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic of this test's own."""
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)
    return f"persistent://{NAMESPACE}/{name}"


@pytest.fixture
def root() -> Path:
    return Path(__file__).parents[2]
