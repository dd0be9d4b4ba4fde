"""The catalogue of findings: code, severity, what it means, likely cause, remedy, next command.

A finding is a row of the `findings` table; its words live here and nowhere else. Codes are stable; a module for each
letter or family of them, listed in `catalogue.py`.
"""

from pulsar_backlog.findings.catalogue import CATALOGUE, count_sentences
from pulsar_backlog.findings.finding import MAX_EVIDENCE, Finding
from pulsar_backlog.findings.kinds import SEVERITIES, FindingKind, Severity

__all__ = ["CATALOGUE", "MAX_EVIDENCE", "SEVERITIES", "Finding", "FindingKind", "Severity", "count_sentences"]
