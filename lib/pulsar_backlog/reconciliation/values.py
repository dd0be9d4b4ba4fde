"""What is compared, and what comes of it: a row of the table `inventory`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from pulsar_backlog.cluster.values import LedgerRecord
from pulsar_backlog.ledgers.values import LedgerCopy
from pulsar_backlog.wire.rows import as_time

Verdict = Literal[
    "current",
    "leftover",
    "trimmed",
    "rescue",
    "doubtful",
    "unfinished",
    "unlisted",
    "newer",
    "unknown_topic",
    "other_cluster",
    "undecided",
    "missing",
    "not_offloaded",
    "compacted",
    "bookkeeper",
]


@dataclass(frozen=True)
class Judged:
    """What something stored is to the broker.

    Attributes:
        verdict: in one word.
        reason: in one sentence.
        current_copy: the copy that the broker reads, where this one is another attempt.
    """

    verdict: Verdict
    reason: str
    current_copy: str | None = None


@dataclass(frozen=True)
class Stored:
    """Something that is stored of a ledger: a copy, or an unfinished upload.

    Attributes:
        ledger_id: ledger.
        uuid: offload attempt.
        topic: full name, or None where nothing names it.
        copy: as in `ledgers`, or of the upload.
        kind: how it is stored, or `upload`, `streaming`.
        bytes: that are paid for.
        objects: it is made of.
        examined: the copy as the inventory of the source has it; None for an upload.
        upload_id: of an unfinished upload.
        last_written_ms: when it was last written to, or an upload begun; None when unknown.
    """

    ledger_id: int
    uuid: str
    topic: str | None
    copy: str
    kind: str
    bytes: int
    objects: tuple[str, ...]
    examined: LedgerCopy | None = None
    upload_id: str | None = None
    last_written_ms: int | None = None

    @property
    def pulsar_cluster(self) -> str | None:
        """Pulsar's own name of the cluster that wrote it; None where that is not known."""
        return self.examined.pulsar_cluster if self.examined else None

    @property
    def has_index(self) -> bool:
        """Whether a broker could find entries in it."""
        return self.examined is not None and self.examined.index_uri is not None


@dataclass(frozen=True)
class Row:
    """A row of `inventory`; attributes as the columns."""

    ledger_id: int
    topic: str | None
    copy: str
    kind: str
    judged: Judged
    stored: Stored | None = None
    record: LedgerRecord | None = None
    leaks: bool = False
    needs_sole_owner: bool = False

    @property
    def pulsar_cluster(self) -> str | None:
        """Pulsar's own name of the cluster that wrote it; None where that is not known."""
        return self.stored.pulsar_cluster if self.stored else None

    def owned(self, judgement: tuple[Judged, bool, bool]) -> Row:
        """The row with what is known of whose it is."""
        judged, leaks, alone = judgement
        return replace(self, judged=judged, leaks=leaks, needs_sole_owner=alone)

    def row(self, cluster: str) -> dict[str, object]:
        """As the table has it."""
        stored, record = self.stored, self.record
        copy = stored.examined if stored else None
        return {
            "cluster": cluster,
            "topic": self.topic,
            "ledger_id": self.ledger_id,
            "copy": self.copy,
            "kind": self.kind,
            "verdict": self.judged.verdict,
            "reason": self.judged.reason,
            "leaks": self.leaks,
            "needs_sole_owner": self.needs_sole_owner,
            "current_copy": self.judged.current_copy,
            "bytes": stored.bytes if stored else 0,
            "objects": list(stored.objects) if stored else [],
            "upload_id": stored.upload_id if stored else None,
            "last_written": as_time(stored.last_written_ms) if stored else None,
            "pulsar_cluster": self.pulsar_cluster,
            "stored_entries": copy.expected_entries if copy else None,
            "stored_bytes": copy.expected_bytes if copy else None,
            "broker_uuid": record.uuid if record else None,
            "broker_complete": record.complete if record else None,
            "broker_entries": record.entries if record else None,
            "broker_bytes": record.size_bytes if record else None,
        }
