"""Two real brokers that replicate a namespace to each other, one of them behind a proxy that a test can cut."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pulsar

from tests.broker.conftest import Admin
from tests.broker.process import Broker, running_broker
from tests.broker.proxy import Proxy

NAMESPACE = "lab/geo"
CLUSTERS = ("eu", "us")
SECONDS = 90
"""How long replication may take; a replicator that lost its connection waits longer each time."""


@dataclass
class Region:
    """One cluster of one broker.

    Attributes:
        name: of the cluster.
        folder: of its data.
        broker: that runs now.
        proxy: through which the other cluster replicates to it.
    """

    name: str
    folder: Path
    broker: Broker
    proxy: Proxy
    running: ExitStack = field(default_factory=ExitStack)

    @property
    def admin(self) -> Admin:
        return Admin(self.broker)

    def restart(self) -> None:
        """End the broker and start it once more on the same data."""
        self.running.close()
        self.broker = self.running.enter_context(running_broker(self.folder, _settings(self.name), again=self.broker))


@contextmanager
def two_regions(folder: Path) -> Iterator[tuple[Region, Region]]:
    """Two brokers, `eu` and `us`, with `NAMESPACE` replicated both ways and deduplication on."""
    with ExitStack() as stack:
        regions: list[Region] = []
        for name in CLUSTERS:
            running = stack.enter_context(ExitStack())
            identity = regions[0].broker.identity if regions else None
            home = folder / name
            home.mkdir()
            broker = running.enter_context(running_broker(home, _settings(name), identity=identity))
            proxy = Proxy(broker.service_url)
            stack.callback(proxy.close)
            regions.append(Region(name, home, broker, proxy, running))
        for here, there in (regions, reversed(regions)):
            data = {"serviceUrl": there.broker.admin_url, "brokerServiceUrl": there.proxy.service_url}
            here.admin.request("PUT", f"/v2/clusters/{there.name}", data)
            tenant = {"adminRoles": ["admin"], "allowedClusters": list(CLUSTERS)}
            here.admin.request("PUT", "/v2/tenants/lab", tenant)
        for region in regions:
            path = f"/v2/namespaces/{NAMESPACE}"
            region.admin.request("PUT", path, {"replication_clusters": list(CLUSTERS), "deduplicationEnabled": True})
        yield regions[0], regions[1]


def _settings(cluster: str) -> dict[str, str]:
    return {"clusterName": cluster}


def connected_client(region: Region) -> pulsar.Client:
    return pulsar.Client(
        region.broker.service_url,
        authentication=pulsar.AuthenticationToken(region.broker.token_file.read_text()),
        logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error),
    )


def entries_of(region: Region, topic: str) -> int:
    """How many entries a topic has; 0 where it does not exist."""
    try:
        return int(region.admin.get(topic, "internalStats")["numberOfEntries"])
    except AssertionError:
        return 0


def wait_until(reached: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if reached():
            return
        time.sleep(0.2)
    raise AssertionError(f"{what}: not after {SECONDS} seconds")
