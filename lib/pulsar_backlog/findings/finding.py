"""One anomaly found."""

from __future__ import annotations

from dataclasses import dataclass, field

from pulsar_backlog.findings.catalogue import CATALOGUE
from pulsar_backlog.findings.kinds import FindingKind
from pulsar_backlog.terms import Sureness

MAX_EVIDENCE = 20
"""Positions or values a finding carries at most; the tables hold the rest."""


@dataclass(frozen=True)
class Finding:
    """One anomaly found, ready to become a row of `findings`.

    Attributes:
        code: code in `CATALOGUE`.
        subject: what it is about; unique together with the code within one job.
        message: the finding in one sentence, with its numbers.
        topic: full topic name, or None.
        ledger_id: ledger, or None.
        entry_id: first entry, or None.
        count: how many entries, messages or objects are concerned.
        sureness: how sure.
        reason: why it is that sure.
        evidence: positions, objects or values; cut to `MAX_EVIDENCE`.
        incomplete: whether something could not be read.
    """

    code: str
    subject: str
    message: str
    topic: str | None = None
    ledger_id: int | None = None
    entry_id: int | None = None
    count: int = 1
    sureness: Sureness = "certain"
    reason: str = "read from the stored bytes"
    evidence: tuple[str, ...] = field(default=())
    incomplete: bool = False

    @property
    def kind(self) -> FindingKind:
        """The catalogue entry of this finding's code."""
        return CATALOGUE[self.code]

    def row(self, cluster: str, job: str) -> dict[str, object]:
        """The finding as a row of the `findings` table."""
        return {
            "cluster": cluster,
            "job": job,
            "code": self.code,
            "name": self.kind.name,
            "severity": self.kind.severity,
            "subject": self.subject,
            "topic": self.topic,
            "ledger_id": self.ledger_id,
            "entry_id": self.entry_id,
            "count": self.count,
            "sureness": self.sureness,
            "reason": self.reason,
            "message": self.message,
            "evidence": list(self.evidence[:MAX_EVIDENCE]),
            "incomplete": self.incomplete,
        }
