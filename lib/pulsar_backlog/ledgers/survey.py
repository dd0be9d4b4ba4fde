"""What lies in a source by itself: each stored copy of a ledger examined, none held yet against what others know."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from pulsar_backlog.counting import counted
from pulsar_backlog.findings import Finding
from pulsar_backlog.grouping import groups_of
from pulsar_backlog.ledgers.bookies.findings import findings_of_logs
from pulsar_backlog.ledgers.bookies.survey import LogFound, ledgers_found, read_logs
from pulsar_backlog.ledgers.copies import Examined, Pair
from pulsar_backlog.ledgers.kinds import examine
from pulsar_backlog.ledgers.listing import Listing, Others, Tally, look_at_others, printable
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.streaming import Streamed, streamed_ledgers

THREADS = 16
"""Objects looked at together: what bounds this step is the answer time of the store."""
EXAMINED_AT_ONCE = 1024
"""Copies handed to the threads at once, which bounds what waits in memory."""


@dataclass(frozen=True)
class Survey:
    """What a source holds.

    Attributes:
        attempts: copies in the order of ledger and UUID.
        findings: about the listing.
        streamed: ledgers in objects of streaming offload, which are named and not read.
    """

    attempts: list[Examined]
    findings: list[Finding]
    streamed: tuple[Streamed, ...] = ()

    def topics(self) -> dict[int, str]:
        """Full topic names of the ledgers whose objects name one."""
        return {found.pair.ledger_id: found.topic for found in self.attempts if found.topic is not None}


def survey(source: Source, listing: Listing, ledgers: Collection[int] | None = None) -> Survey:
    """Examine every copy of a ledger that was listed.

    Args:
        source: where they lie.
        listing: of the source; what it spilled is not examined here.
        ledgers: only these ledgers are examined; None examines all.
    """
    pairs = (pair for pair in listing.pairs if ledgers is None or pair.ledger_id in ledgers)
    others = look_at_others(source, listing)
    streamed, faults = streamed_ledgers(source, others.streaming)
    attempts = list(examined(source, pairs))
    wanted = listing.logs if ledgers is None or ledgers else []
    logs = list(read_logs(source, wanted, ledgers))
    of_bookies = list(ledgers_found(logs, ledgers))
    attempts += [found.examined for found in of_bookies if found.is_of_messages]
    attempts.sort(key=lambda found: found.pair.ledger_id)
    findings = [*_findings_of_listing(source, listing, others, logs), *faults, *findings_of_logs(logs, of_bookies)]
    return Survey(attempts, findings, tuple(streamed))


def examined(source: Source, pairs: Iterable[Pair]) -> Iterator[Examined]:
    """Each pair examined, in order, many at a time."""
    with ThreadPoolExecutor(THREADS) as pool:
        for group in groups_of(pairs, EXAMINED_AT_ONCE):
            yield from pool.map(partial(examine, source), group)


def _findings_of_listing(source: Source, listing: Listing, others: Others, logs: list[LogFound]) -> Iterator[Finding]:
    foreign = others.foreign
    for one in logs:
        if one.is_foreign:
            foreign.add(one.log.stored.path)
    unreadable = [one.unreadable for one in logs if one.unreadable is not None]
    for error in [*listing.unreadable, *others.unreadable, *unreadable]:
        uri = printable([error.uri])[0]
        yield Finding("S02", uri, printable([str(error)])[0], incomplete=True, evidence=(uri,))
    if not listing.has_attempts and all(one.is_foreign for one in logs):
        yield Finding("S01", printable([source.source])[0], "No object in the source is an offloaded ledger.")
    if foreign.count:
        words = counted(foreign.count, "object is no offloaded ledger", "objects are no offloaded ledgers")
        yield _counted("S03", "foreign", words, foreign)
    for kind, tally in sorted(others.kinds.items()):
        words = counted(tally.count, "object holds a ledger", "objects hold ledgers")
        yield _counted("S21", kind, f"{words} of the kind {kind}, which is not read", tally)


def _counted(code: str, subject: str, words: str, tally: Tally) -> Finding:
    examples = printable(tally.examples)
    return Finding(code, subject, f"{words}.", count=tally.count, evidence=examples)
