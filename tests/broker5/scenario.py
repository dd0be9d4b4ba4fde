"""What happens on the cluster: splits, a merge, a migration, transactions of both kinds, consumers of each kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.broker5.cluster import Clients, Cluster, Received

NAMESPACE = "lab/five"
CLICKS, TRANSFERS, LEGACY = (f"topic://{NAMESPACE}/{name}" for name in ("clicks", "transfers", "legacy"))
PAYMENTS, OLD = f"persistent://{NAMESPACE}/payments", f"persistent://{NAMESPACE}/legacy"


@dataclass
class Played:
    """What was sent and received.

    Attributes:
        checkpoints: by topic what a checkpoint consumer got from the earliest message on; of `PAYMENTS` a v4 consumer.
        committed: labels of messages that stand committed behind an open transaction.
        hidden: labels of messages of aborted transactions.
        open: labels of messages of the transaction that is open.
        by_queue: what the queue consumer got before the first split.
        by_stream: what the stream consumer got after all splits and merges.
    """

    checkpoints: dict[str, Received] = field(default_factory=dict)
    committed: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)
    by_queue: Received = field(default_factory=list)
    by_stream: Received = field(default_factory=list)


def play(cluster: Cluster, clients: Clients) -> Played:
    """All of it, in half a minute."""
    played = Played()
    cluster.request("PUT", "/tenants/lab", {"allowedClusters": ["standalone"]})
    cluster.request("PUT", f"/namespaces/{NAMESPACE}", {})
    _clicks(cluster, clients, played)
    _transfers(cluster, clients, played)
    _payments(clients, played)
    _legacy(cluster, clients)
    for topic in (CLICKS, TRANSFERS, LEGACY):
        played.checkpoints[topic] = clients.receive("checkpoint", topic, "-", "none")
    played.checkpoints[PAYMENTS] = clients.receive("v4", PAYMENTS, "settle", "half")
    return played


def _clicks(cluster: Cluster, clients: Clients, played: Played) -> None:
    """Batches and chunks; a queue that is not back after the split, a stream that follows all layouts."""
    at = _made(cluster, "clicks", 2)
    clients("send", "v5", CLICKS, "plain", 0, 20, 100, "plain", "-")
    clients("send", "v5", CLICKS, "batch", 20, 20, 100, "batch", "-")
    clients("send", "v5", CLICKS, "large", 40, 3, 40_000, "chunk", "-")
    played.by_queue = clients.receive("queue", CLICKS, "workers", "half")
    cluster.request("POST", f"{at}/split/0")
    clients("send", "v5", CLICKS, "split", 50, 20, 100, "plain", "-")
    cluster.request("POST", f"{at}/merge/3/1")
    clients("send", "v5", CLICKS, "merge", 70, 10, 100, "plain", "-")
    played.by_stream = clients.receive("stream", CLICKS, "ledger", "all")


def _transfers(cluster: Cluster, clients: Clients, played: Played) -> None:
    """Transactions of v5 clients: committed, aborted, in chunks, acknowledging, and one that stays open."""
    at = _made(cluster, "transfers", 1)
    clients("send", "v5", TRANSFERS, "before", 100, 3, 100, "plain", "-")
    for name, first, size, how in (("a", 110, 100, "commit"), ("b", 120, 100, "abort"), ("c", 130, 40_000, "commit")):
        clients("begin", "v5", name)
        clients("send", "v5", TRANSFERS, name, first, 2, size, "chunk" if size > 100 else "plain", name)
        clients(how, "v5", name)
    played.hidden |= {"m120", "m121"}
    clients("begin", "v5", "acks")
    clients.receive("queue", TRANSFERS, "settle", "half", "acks")
    cluster.request("POST", f"{at}/split/0")
    clients("begin", "v5", "open")
    # Two keys, one for each child.
    clients("send", "v5", TRANSFERS, "open", 140, 8, 100, "plain", "open")
    clients("send", "v5", TRANSFERS, "behind", 150, 6, 100, "plain", "-")
    played.open |= {f"m{n}" for n in range(140, 148)}
    played.committed |= {f"m{n}" for n in range(150, 156)}


def _payments(clients: Clients, played: Played) -> None:
    """Transactions of v4 clients, with markers."""
    for name, first, how in (("x", 200, "commit"), ("y", 210, "abort"), ("z", 220, "commit")):
        clients("begin", "v4", name)
        clients("send", "v4", PAYMENTS, name, first, 3, 100, "plain", name)
        clients(how, "v4", name)
    played.hidden |= {"m210", "m211", "m212"}


def _legacy(cluster: Cluster, clients: Clients) -> None:
    """Two partitions that become a scalable topic."""
    cluster.request("PUT", f"/persistent/{NAMESPACE}/legacy/partitions", 2)
    clients("send", "v4", OLD, "four", 300, 10, 100, "plain", "-")
    clients.receive("v4", OLD, "drain", "half")
    cluster.request("POST", f"/scalable/{NAMESPACE}/legacy/migrate")
    clients("send", "v5", LEGACY, "five", 320, 10, 100, "plain", "-")


def _made(cluster: Cluster, name: str, segments: int) -> str:
    """A scalable topic; where the admin API keeps it."""
    path = f"/scalable/{NAMESPACE}/{name}"
    properties: dict[str, Any] = {}
    cluster.request("PUT", f"{path}?numInitialSegments={segments}", properties)
    return path
