"""What one model does with each publication of one topic, and with the topic: a cursor that keeps the books.

A publication's account is closed when all its copies are acknowledged or blocked. What keeps a hole stays open to the
end, because a connection that comes back may still deliver it; past `MAX_SETTLED` of them the oldest are closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from pulsar_backlog.chunks.clients.events import AckReason, Content, HoleReason, LogEntry, Publication
from pulsar_backlog.chunks.clients.session import Damage
from pulsar_backlog.terms import Position, Sureness

OutcomeWord = Literal[
    "delivered", "delivered_again", "mixed", "wrong_content", "silent_loss", "lost", "dropped", "hole", "blocked",
    "breaks_client", "waiting",
]  # fmt: skip

MAX_SETTLED = 50_000
"""Publications with holes that are kept for a connection that may come back."""


InLogFields = tuple[int, bool, bool, Sureness]
"""The fields of `InLog`, in its order, as they stand beside every chunk."""


class InLog(NamedTuple):
    """What the log holds of a publication, as the fold found it.

    Attributes:
        copies: stored entries that belong to it.
        whole: whether all of it is stored, in whatever order.
        in_flight: whether it may still be arriving.
        sureness: how sure that is.
    """

    copies: int
    whole: bool
    in_flight: bool
    sureness: Sureness


@dataclass(slots=True)
class Account:
    """What has become of one publication so far.

    Attributes:
        publication: whose account it is.
        first: its first copy.
        in_log: what the log holds.
        seen: copies that were dispatched or blocked.
        unacknowledged: copies that were dispatched and are not acknowledged.
        right: deliveries of what was sent.
        mixed: deliveries of a mixture that it is part of.
        wrong: deliveries of a part of it, or of more than it.
        unknown: deliveries of which nobody can tell.
        acked_unread: copies acknowledged by the client itself.
        blocked: copies never dispatched.
        permits_kept: permits lost with its chunks.
        reasons: why copies were acknowledged unread or left, in order of appearance.
        is_doubtful: whether what became of it depends on what nobody knows of the broker.
    """

    publication: Publication
    first: Position
    in_log: InLog
    seen: int = 0
    unacknowledged: dict[Position, LogEntry] = field(default_factory=dict)
    right: int = 0
    mixed: int = 0
    wrong: int = 0
    unknown: int = 0
    acked_unread: int = 0
    blocked: int = 0
    permits_kept: int = 0
    reasons: dict[AckReason | HoleReason, None] = field(default_factory=dict)
    is_doubtful: bool = False


class Accounts:
    """The cursor of one model on one topic, publication by publication.

    Attributes:
        open: accounts that are not closed.
        acknowledgements: entries acknowledged.
        closed: accounts that will not change any more; whoever reads them empties the list.
        is_doubtful: whether what happens from here on depends on what nobody knows of the broker.
    """

    def __init__(self) -> None:
        self.acknowledgements = 0
        self.closed: list[Account] = []
        self.open: dict[Publication, Account] = {}
        self._settled: dict[Publication, None] = {}
        self.is_doubtful = False

    def doubt(self) -> None:
        """See `Cursor`."""
        if self.is_doubtful:
            return
        self.is_doubtful = True
        for account in self.open.values():
            account.is_doubtful = True

    def announce(self, entry: LogEntry, in_log: InLog) -> None:
        """The first entry of a message that is not known comes next; this is what the log holds of the message."""
        self.open[entry.publication] = Account(entry.publication, entry.position, in_log, is_doubtful=self.is_doubtful)

    def dispatch(self, entry: LogEntry) -> None:
        """See `Cursor`."""
        account = self.open[entry.publication]
        if entry.position not in account.unacknowledged:
            account.seen += 1
            account.unacknowledged[entry.position] = entry

    def block(self, entry: LogEntry) -> None:
        """See `Cursor`."""
        account = self.open[entry.publication]
        if entry.position not in account.unacknowledged:
            account.seen += 1
            account.blocked += 1
            self._close_if_done(account)

    def unacknowledged(self) -> list[LogEntry]:
        """See `Cursor`."""
        return sorted(entry for account in self.open.values() for entry in account.unacknowledged.values())

    def is_unacknowledged(self, entry: LogEntry) -> bool:
        """See `Cursor`."""
        account = self.open.get(entry.publication)
        return account is not None and entry.position in account.unacknowledged

    def deliver(self, entries: Sequence[LogEntry], content: Content, *, acks_last_only: bool = False) -> None:
        """See `Inbox`."""
        account = self.open.get(entries[0].publication)
        if account is None or content != "right" or acks_last_only:
            self._deliver_parts(entries, content, entries[-1:] if acks_last_only else entries)
            return
        account.right += 1  # the usual case: all of one publication
        for entry in entries:
            if account.unacknowledged.pop(entry.position, None) is not None:
                self.acknowledgements += 1
        self._close_if_done(account)

    def _deliver_parts(self, entries: Sequence[LogEntry], content: Content, acked: Sequence[LogEntry]) -> None:
        for publication in dict.fromkeys(entry.publication for entry in entries):  # parts of a mixture may alternate
            if publication in self.open:
                _count_delivery(self.open[publication], content)
        for entry in acked:
            account = self.open.get(entry.publication)
            if account is None:
                continue
            if account.unacknowledged.pop(entry.position, None) is not None:
                self.acknowledgements += 1
                self._close_if_done(account)

    def acknowledge(self, entries: Sequence[LogEntry], reason: AckReason) -> None:
        """See `Inbox`."""
        for entry in entries:
            account = self.open.get(entry.publication)
            if account is None or account.unacknowledged.pop(entry.position, None) is None:
                continue
            self.acknowledgements += 1
            account.acked_unread += 1
            account.reasons[reason] = None
            self._close_if_done(account)

    def leave(self, entries: Sequence[LogEntry], reason: HoleReason, *, tracked: bool = False) -> None:
        """See `Inbox`."""
        for entry in entries:
            account = self.open.get(entry.publication)
            if account is not None:
                account.reasons[reason] = None
                if account.seen == account.in_log.copies:
                    self._settle(account)

    def keep_permit(self, entry: LogEntry) -> None:
        """See `Inbox`."""
        account = self.open.get(entry.publication)
        if account is not None:
            account.permits_kept += 1

    def _settle(self, account: Account) -> None:
        """All of it was seen, and it has a hole: only a connection that comes back can change it."""
        self._settled[account.publication] = None
        if len(self._settled) > MAX_SETTLED:
            key = next(iter(self._settled))
            del self._settled[key]
            self.closed.append(self.open.pop(key))

    def finish(self) -> None:
        """The log is over: close everything."""
        self.closed.extend(self.open.values())
        self.open.clear()

    def _close_if_done(self, account: Account) -> None:
        if not account.unacknowledged and account.seen == account.in_log.copies:
            del self.open[account.publication]
            self._settled.pop(account.publication, None)
            self.closed.append(account)


def _count_delivery(account: Account, content: Content) -> None:
    if content == "right":
        account.right += 1
    elif content == "mixed":
        account.mixed += 1
    elif content == "unknown":
        account.unknown += 1
    else:
        account.wrong += 1


def is_culprit(account: Account, damage: Damage | None) -> bool:
    """Whether this publication is what breaks the client, rather than what a stall happens to stop before."""
    return damage is not None and not damage.kind.endswith("_stall") and damage.publication == account.publication


def outcome_of(account: Account, damage: Damage | None) -> OutcomeWord:
    """The account in one word."""
    if is_culprit(account, damage):
        return "breaks_client"
    if account.mixed:
        return "mixed"
    if account.wrong:
        return "wrong_content"
    delivered = account.right + account.unknown
    if delivered:
        return "delivered" if delivered == 1 else "delivered_again"
    if account.blocked:
        return "blocked"
    if account.in_log.in_flight:
        return "waiting"
    if account.in_log.whole:
        return "lost" if account.unacknowledged else "silent_loss"
    return "hole" if account.unacknowledged else "dropped"


def emptied(accounts: Accounts) -> Iterator[Account]:
    """The accounts closed since the last call."""
    closed, accounts.closed = accounts.closed, []
    yield from closed
