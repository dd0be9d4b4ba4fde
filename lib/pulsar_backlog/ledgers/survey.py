"""What lies in a source by itself: each stored copy of a ledger examined, none held yet against what others know."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from pulsar_backlog.counting import counted
from pulsar_backlog.findings import Finding
from pulsar_backlog.grouping import groups_of
from pulsar_backlog.ledgers.bookies.contents import read_contents
from pulsar_backlog.ledgers.bookies.findings import findings_of_logs
from pulsar_backlog.ledgers.bookies.survey import LogFound
from pulsar_backlog.ledgers.copies import Examined, Pair
from pulsar_backlog.ledgers.kinds import examine
from pulsar_backlog.ledgers.known_copies import KnownCopies
from pulsar_backlog.ledgers.listing import Listing, Tally, printable
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.streaming.ledgers import streamed_ledgers
from pulsar_backlog.ledgers.streaming.objects import Streamed, StreamFound, findings_of_streams, read_streams, streamed

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
        streamed: what each object of streaming offload holds of each ledger.
        internal: ledgers in the files of bookies that hold no messages.
    """

    attempts: list[Examined]
    findings: list[Finding]
    streamed: tuple[Streamed, ...] = ()
    internal: tuple[Examined, ...] = ()

    def topics(self) -> dict[int, str]:
        """Full topic names of the ledgers whose objects name one."""
        return {attempt.pair.ledger_id: attempt.topic for attempt in self.attempts if attempt.topic is not None}


def survey(
    source: Source, listing: Listing, ledgers: Collection[int] | None = None, earlier: KnownCopies | None = None
) -> Survey:
    """Examine every copy of a ledger that was listed.

    Args:
        source: where they lie.
        listing: of the source; what it spilled is not examined here.
        ledgers: only these ledgers are examined; None examines all.
        earlier: what is known of copies in objects of their own, which are not looked at again.
    """
    pairs = (pair for pair in listing.pairs if ledgers is None or pair.ledger_id in ledgers)
    attempts = list(examined(source, pairs, earlier))
    is_wanted = ledgers is None or bool(ledgers)
    of_bookies = read_contents(source, listing.logs if is_wanted else [], listing.indexes if is_wanted else [], ledgers)
    streams = read_streams(source, listing.streams if ledgers is None or ledgers else [], ledgers)
    attempts += [ledger.examined for ledger in of_bookies.ledgers if ledger.is_of_messages]
    attempts += streamed_ledgers(source, streams, ledgers)
    attempts.sort(key=lambda ledger: ledger.pair.ledger_id)
    findings = [
        *_findings_of_listing(source, listing, of_bookies.logs, streams),
        *findings_of_streams(streams),
        *findings_of_logs(of_bookies),
    ]
    internal = tuple(ledger.examined for ledger in of_bookies.ledgers if not ledger.is_of_messages)
    return Survey(attempts, findings, tuple(streamed(streams)), internal)


def examined(source: Source, pairs: Iterable[Pair], earlier: KnownCopies | None = None) -> Iterator[Examined]:
    """Each pair examined, in order, many at a time; those that are known are taken as they are."""
    with ThreadPoolExecutor(THREADS) as pool:
        for group in groups_of(pairs, EXAMINED_AT_ONCE):
            taken = [earlier.examined(pair) if earlier else None for pair in group]
            news = pool.map(partial(examine, source), (pair for pair, one in zip(group, taken, strict=True) if not one))
            for one in taken:
                if one is None:
                    one = next(news)  # noqa: PLW2901
                    if earlier is not None:
                        earlier.add(one)
                yield one


def _findings_of_listing(
    source: Source, listing: Listing, logs: list[LogFound], streams: list[StreamFound]
) -> Iterator[Finding]:
    foreign = Tally(listing.foreign.count, listing.foreign.examples.copy())
    none_ours = [one.log.stored for one in logs if one.is_foreign]
    for stored in [*none_ours, *(stored for one in streams for stored in one.foreign)]:
        foreign.add(stored.path)
    unreadable = [one.unreadable for one in logs if one.unreadable is not None]
    unreadable += [error for one in streams for error in one.unreadable]
    for error in [*listing.unreadable, *unreadable]:
        uri = printable([error.uri])[0]
        yield Finding("S02", uri, printable([str(error)])[0], incomplete=True, evidence=(uri,))
    if not listing.has_attempts and len(none_ours) == len(logs) and not any(one.objects for one in streams):
        yield Finding("S01", printable([source.source])[0], "No object in the source is an offloaded ledger.")
    if foreign.count:
        words = counted(foreign.count, "object is no offloaded ledger", "objects are no offloaded ledgers")
        yield Finding("S03", "foreign", f"{words}.", count=foreign.count, evidence=printable(foreign.examples))
