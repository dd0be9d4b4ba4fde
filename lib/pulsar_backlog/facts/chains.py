"""Ledgers that are likely of one topic: where the log of one goes on in another, told by their entries alone.

| what goes on | from the end of one ledger to the begin of another |
|---|---|
| index | the broker's count of a topic's messages (PIP-70): the next number |
| producer | a producer's sequence id: the next number, or the next chunk of its message |

Dead letters name topics: a client that sends a message to a retry or dead-letter topic writes into its properties where
it lay.

A number may be met by chance, and every partition counts for itself. So a link counts only where one ledger alone ends
with it and one alone begins with it, and where nothing else leads elsewhere from either. It is never certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pulsar_backlog.counting import counted


@dataclass(frozen=True)
class Link:
    """What goes on from one ledger in another.

    Attributes:
        before, after: ledgers.
        kind: what goes on.
        count: of producers how many; 1 of the index.
        example: the first producer's name; empty of the index.
        number: the index or sequence id that `after` begins with, of the first producer.
    """

    before: int
    after: int
    kind: Literal["index", "producer"]
    count: int
    example: str
    number: int

    def words(self) -> str:
        """Such as `5 to 9: the index goes on at 500`."""
        ledgers = f"{self.before} to {self.after}: "
        if self.kind == "index":
            return f"{ledgers}the index goes on at {self.number}"
        more = f", and {counted(self.count - 1, 'more producer', 'more producers')}" if self.count > 1 else ""
        return f"{ledgers}producer {self.example} goes on at sequence id {self.number}{more}"


@dataclass(frozen=True)
class Chain:
    """Ledgers whose entries go on from one to the next.

    Attributes:
        ledgers: in the order of their log.
        links: between them.
        letters: ledgers of which dead letters name the topic.
        topic: full name of the one topic that ledgers among them are known to have, or letters name; None without one.
    """

    ledgers: tuple[int, ...]
    links: tuple[Link, ...]
    letters: tuple[int, ...]
    topic: str | None

    def evidence(self) -> Iterator[str]:
        """What goes on, and what letters name, in words."""
        yield from (link.words() for link in self.links)
        yield from (f"{ledger_id}: dead letters of it name {self.topic}" for ledger_id in self.letters)


def chains(topics: Mapping[int, str | None], links: Iterable[Link], letters: Mapping[int, str]) -> Iterator[Chain]:
    """Chains of ledgers, in order of their first one, in which at least one has no topic.

    Args:
        topics: of every ledger, the full name of its topic where that is known.
        letters: topics that dead letters name, by ledger.
        links: between them. Those of ledgers that lead to several others, or to which several lead, are left out, and
            so are chains whose ledgers are of several topics.
    """
    followers: dict[int, dict[int, list[Link]]] = {}
    leaders: dict[int, set[int]] = {}
    for link in links:
        followers.setdefault(link.before, {}).setdefault(link.after, []).append(link)
        leaders.setdefault(link.after, set()).add(link.before)
    following = {
        before: next(iter(after.items()))
        for before, after in followers.items()
        if len(after) == 1 and all(len(leaders[one]) == 1 for one in after)
    }
    led = {after for after, _ in following.values()}
    for first in sorted(topics.keys() - led):
        ledgers, chain = [first], list[Link]()
        while (step := following.get(ledgers[-1])) is not None:
            ledgers.append(step[0])
            chain += sorted(step[1], key=lambda link: link.kind)
        named = tuple(one for one in ledgers if one in letters)
        if not chain and not named:
            continue
        names = {topics.get(one) for one in ledgers}
        mapping = (names | {letters[one] for one in named}) - {None}
        if None in names and len(mapping) <= 1:
            yield Chain(tuple(ledgers), tuple(chain), named, next(iter(mapping), None))
