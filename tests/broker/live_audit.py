"""An audit of a live topic: its entries as an offloader stores them, and a snapshot of what its broker says."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata
from tests.auditing import run_one
from tests.broker.process import Broker
from tests.broker.publishing import Position
from tests.broker.repairing import said_by
from tests.ledgers.encoding import offload
from tests.ledgers.sources import put
from tests.wire.encode import entry

CLUSTER = "live"
_JOBS = ("inventory_ledgers", "scan_entries", "assemble_chunks")


class LiveAudit:
    """Audits of one topic whose entries do not change, but whose subscriptions do.

    Args:
        folder: for everything.
        broker: that serves it.
        topic: of one ledger.
        entries: all that were published.
        positions: where they are stored.
    """

    def __init__(
        self, folder: Path, broker: Broker, topic: str, entries: Iterable[tuple[MessageMetadata, bytes]],
        positions: Sequence[Position],
    ) -> None:  # fmt: skip
        self._folder = folder
        self._broker = broker
        self._topic = topic
        tenant, namespace, name = topic.removeprefix("persistent://").split("/")
        bodies = [entry(metadata.SerializeToString(), payload) for metadata, payload in entries]
        assert [entry_id for _, entry_id in positions] == list(range(len(bodies)))
        managed = f"{tenant}/{namespace}/persistent/{quote(name, safe='')}"
        put(folder / "objects", offload(bodies, managed_ledger=managed), positions[0][0])
        self._base: Path | None = None

    def audit(self, name: str) -> Path:
        """Ask the broker, and audit; the folder of the tables."""
        admin = self._folder / f"{name}-admin"
        code, said = said_by([
            "snapshot", "--admin-url", self._broker.admin_url, "--token-file", str(self._broker.token_file),
            "--topic", self._topic, "--out", str(admin),
        ])  # fmt: skip
        assert code == 0, said
        out = self._folder / name
        if self._base is None:
            self._run(out, admin, *_JOBS)
            self._base = self._folder / "base"
            shutil.copytree(out, self._base)
        else:
            shutil.copytree(self._base, out)
        self._run(out, admin, "analyze_subscriptions")
        return out

    def _run(self, out: Path, admin: Path, *jobs: str) -> None:
        for job in jobs:
            ran = run_one(job, self._folder / "objects", out, admin=admin, cluster=CLUSTER, fail_on="never")
            assert ran.exit_code == 0, ran.stderr
