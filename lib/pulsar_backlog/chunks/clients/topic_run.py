"""One model on one topic partition, chunk by chunk: outcomes as they are settled, a forecast at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pulsar_backlog.chunks.clients.events import LogEntry
from pulsar_backlog.chunks.clients.outcomes import (
    Account,
    Accounts,
    InLog,
    InLogFields,
    OutcomeWord,
    emptied,
    outcome_of,
)  # fmt: skip
from pulsar_backlog.chunks.clients.reasons import BATCH_UNKNOWN, how_sure, sureness_of_damage, why
from pulsar_backlog.chunks.clients.session import Damage, Session
from pulsar_backlog.chunks.clients.settings import DEFAULT_EXPIRY_MS, ClientSettings
from pulsar_backlog.chunks.clients.whole_messages import WholeMessages
from pulsar_backlog.terms import Sureness


class Outcome(NamedTuple):
    """What a model makes of a publication, named as the columns of `consumer_outcomes`."""

    chunk_uuid: str
    publish_time_ms: int
    model: str
    outcome: OutcomeWord
    deliveries: int
    mixed_deliveries: int
    wrong_deliveries: int
    acked_unread: int
    holes: int
    blocked_entries: int
    permits_kept: int
    sureness: Sureness
    reason: str
    first_ledger_id: int
    first_entry_id: int


@dataclass(frozen=True)
class Forecast:
    """What a topic does to a model.

    Attributes:
        publications: publications of chunked messages by outcome.
        evicted: publications given up because too many were open.
        acked_unread: entries acknowledged unread.
        holes: entries left unacknowledged.
        permits_kept: permits not given back.
        peak_open_contexts: most messages under assembly at one time.
        peak_buffered_bytes: most bytes they claimed.
        damage: what breaks or stops the client; None where nothing does.
        sureness: how sure the damage is.
    """

    publications: Counter[OutcomeWord]
    evicted: int
    acked_unread: int
    holes: int
    permits_kept: int
    peak_open_contexts: int
    peak_buffered_bytes: int
    damage: Damage | None
    sureness: Sureness


class TopicRun:
    """A session fed with the chunks of a topic.

    Attributes:
        model: its name in the outcomes.
        settings: whose behaviour.
    """

    def __init__(self, model: str, settings: ClientSettings, end_ms: int) -> None:
        """Connect: a live consumer before the first entry, another one when all is older than the expiry.

        Args:
            model: name in the outcomes.
            settings: whose behaviour.
            end_ms: when the topic's last chunk was stored.
        """
        self.model = model
        self.settings = settings
        self._accounts = Accounts()
        patience_ms = 3 * max(settings.expiry_ms, settings.ack_timeout_ms or 0, DEFAULT_EXPIRY_MS)
        connected_ms = 0 if settings.live else end_ms + patience_ms
        self._until_ms = max(connected_ms, end_ms) + patience_ms
        self._session = Session(settings, self._accounts, connected_ms)
        self._words: Counter[OutcomeWord] = Counter()
        self._evicted = 0
        self._acked_unread = 0
        self._holes = 0

    def offer_all(self, entries: Sequence[LogEntry], in_logs: Iterable[InLogFields]) -> None:
        """The next chunk entries of the topic, in position order, and what the log holds of the message of each."""
        open_accounts, announce, offer = self._accounts.open, self._accounts.announce, self._session.offer
        start = self.settings.start
        for entry, fields in zip(entries, in_logs, strict=True):
            if start is None or entry.position >= start:
                if entry.publication not in open_accounts:
                    announce(entry, InLog(*fields))
                offer(entry)

    def pass_whole(self, messages: WholeMessages) -> bool:
        """The next messages of the topic, delivered and counted, but not in `outcomes`: `outcome_of_whole` is theirs.

        False, and nothing done, where their entries must be offered.
        """
        if not self._session.pass_whole(messages):
            return False
        self._words["delivered"] += len(messages.uuids)
        return True

    def outcome_of_whole(self, sureness: Sureness) -> Outcome:
        """The outcome of each message that was passed, but for its name and place.

        Args:
            sureness: of what the log holds of it.
        """
        in_log = InLog(copies=0, whole=True, in_flight=False, sureness=sureness)
        return self._row(Account(("", 0), (0, 0), in_log, right=1), "delivered", None)

    def finish(self) -> None:
        """The topic has no more chunks; the consumer stays until everything has expired that does."""
        self._session.finish(self._until_ms)
        self._accounts.finish()

    def outcomes(self) -> Iterator[Outcome]:
        """What was settled since the last call."""
        damage = self._session.damage
        for account in emptied(self._accounts):
            yield self._outcome(account, damage)

    def _outcome(self, account: Account, damage: Damage | None) -> Outcome:
        word = outcome_of(account, damage)
        self._words[word] += 1
        self._holes += len(account.unacknowledged)
        self._acked_unread += account.acked_unread
        self._evicted += "evicted" in account.reasons
        return self._row(account, word, damage)

    def _row(self, account: Account, word: OutcomeWord, damage: Damage | None) -> Outcome:
        sureness, reason = how_sure(account, word, self.settings, damage), why(account, word, damage)
        if account.is_doubtful:
            sureness, reason = "cannot_tell", "; ".join(filter(None, [reason, BATCH_UNKNOWN]))
        return Outcome(
            *account.publication, self.model, word, account.right + account.unknown, account.mixed,
            account.wrong, account.acked_unread, len(account.unacknowledged), account.blocked, account.permits_kept,
            sureness, reason, *account.first,
        )  # fmt: skip

    def forecast(self) -> Forecast:
        """The sum of it; after `finish`, when all outcomes were taken."""
        session = self._session
        damage = session.damage
        return Forecast(
            publications=self._words,
            evicted=self._evicted,
            acked_unread=self._acked_unread,
            holes=self._holes,
            permits_kept=session.permits_kept,
            peak_open_contexts=session.contexts.peak_open,
            peak_buffered_bytes=session.contexts.peak_buffered_bytes,
            damage=damage,
            sureness="cannot_tell" if self._accounts.is_doubtful else sureness_of_damage(damage, self.settings),
        )
