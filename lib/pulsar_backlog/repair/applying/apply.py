"""Applying a plan: live state, check, intent, action, result; one action after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pulsar_backlog.cluster.admin_http import AdminError
from pulsar_backlog.cluster.admin_rest import AdminRest
from pulsar_backlog.errors import SourceError
from pulsar_backlog.repair.acked_entries import entries_of_runs
from pulsar_backlog.repair.applying.acknowledge import Pace, acknowledge, acknowledge_cumulative, reset_cursor, skip
from pulsar_backlog.repair.applying.drift import Allowed, Check, check
from pulsar_backlog.repair.applying.journal import Journal, Line, Status
from pulsar_backlog.repair.applying.limits import Limits
from pulsar_backlog.repair.applying.live import LiveTopic, read_live
from pulsar_backlog.repair.applying.outgoing import (
    NOT_AS_PLANNED,
    NotAsPlannedError,
    outgoing,
    sound_entries,
    sound_payload,
)
from pulsar_backlog.repair.applying.republish import producer_name, went_on
from pulsar_backlog.repair.applying.unload import unload
from pulsar_backlog.repair.broker.cluster import Door, Ledgers
from pulsar_backlog.repair.broker.producer import opened_producer
from pulsar_backlog.repair.values import Action, Message, Plan, payload_path

SETTLE_SECONDS = 4.0
"""How long an acknowledgement may take to show; clients hold them back for a tenth of a second."""

ROUNDS = 4
"""How often entries are acknowledged that do not show: those on their way when a connection breaks are lost."""


@dataclass(frozen=True)
class Outcome:
    """What became of an action in this run.

    Attributes:
        status: as in the journal; `fits` in a dry run; `stopped` when it has to wait for another run; `advice` and
            `kept` for what is never applied.
        notes: a sentence each.
    """

    action: Action
    status: str
    notes: tuple[str, ...] = ()


def dry_run(
    rest: AdminRest, plan: Plan, folder: Path, journal: Journal, allowed: Allowed, ledgers: Ledgers
) -> Iterator[Outcome]:
    """What apply would do with each action, as things are now; changes nothing, neither the broker nor the journal."""
    fitting: set[int] = set()
    for action in plan.actions:
        outcome = _without_broker(plan, folder, journal, action, fitting)
        if outcome is None:
            result = _checked(rest, journal, action, allowed, read_live(rest, action.topic))
            outcome = Outcome(action, result.verdict, result.reasons)
            if result.verdict == "fits" and action.message is not None and action.message.as_stored is not None:
                outcome = _readable(action, action.message, ledgers)
        if outcome.status in ("fits", "already"):
            fitting.add(action.number)
        yield outcome


def _readable(action: Action, message: Message, ledgers: Ledgers) -> Outcome:
    """Whether what is published as it is stored is there, in a dry run."""
    try:
        sound_entries(ledgers, message)
    except NotAsPlannedError as error:
        return Outcome(action, "refused", (str(error),))
    return Outcome(action, "fits")


def apply_plan(
    door: Door, plan: Plan, folder: Path, journal: Journal, allowed: Allowed, limits: Limits
) -> Iterator[Outcome]:
    """Do what still fits; yields each action's outcome when its result is on disk.

    An action that is refused or fails does not stop those that do not require it: each is checked for itself against
    the live state. But while it is unclear whether a message was stored, nothing else is published to its topic: the
    producer's last sequence id could not tell any more.
    """
    pace = Pace(limits.per_second, door.sleep)
    allowed = replace(allowed, has_keys=door.keys is not None)  # whatever was said: without keys nothing is encrypted
    begun = entries = 0
    unclear: set[str] = set()
    for action in sorted(plan.actions, key=lambda action: not journal.is_unclear(action)):
        outcome = _without_broker(plan, folder, journal, action, set())
        if outcome is None and (begun >= limits.actions or entries + action.entry_count > limits.entries):
            outcome = Outcome(action, "stopped", ("this run reached its limit: apply again to go on",))
        if outcome is None and action.kind == "republish" and action.topic in unclear:
            outcome = Outcome(action, "stopped", ("nobody knows yet whether another message was stored on its topic",))
        if outcome is None:
            outcome = _Step(door, plan, folder, journal, allowed, pace, action).run()
            if outcome.status in ("done", "failed"):
                begun, entries = begun + 1, entries + action.entry_count
            if action.kind == "republish" and journal.is_unclear(action):
                unclear.add(action.topic)
        yield outcome


def _without_broker(
    plan: Plan, folder: Path, journal: Journal, action: Action, fitting: Collection[int]
) -> Outcome | None:
    """The outcome of an action that the broker need not be asked about; None when it must be.

    Actions in `fitting`, those that a dry run found to fit, count as finished.
    """
    if action.kind == "settings":
        return Outcome(action, "advice", ("for a person to decide",))
    if action.kind == "file":
        if sound_payload(folder, action) is None:
            return Outcome(action, "refused", (NOT_AS_PLANNED,))
        return Outcome(action, "kept", (f"in {payload_path(folder, action.number)}",))
    if journal.is_finished(action):
        return Outcome(action, "already", ("this plan has done it",))
    for number in action.requires:
        needed = plan.actions[number]
        is_kept = needed.kind == "file" and sound_payload(folder, needed) is not None
        if not (is_kept or needed.kind == "settings" or number in fitting or journal.is_finished(needed)):
            return Outcome(action, "stopped", (f"action {number} must be done first, and is not",))
    return None


def _checked(rest: AdminRest, journal: Journal, action: Action, allowed: Allowed, live: LiveTopic | None) -> Check:
    drifts = check(action, live, journal.baseline(action), allowed)
    if drifts.verdict != "fits" or action.kind != "republish" or allowed.no_deduplication:
        return drifts
    if rest.policy(action.topic, "deduplicationEnabled") is True:
        return drifts
    return Check(
        "refused",
        (
            "the topic's broker does not drop duplicates: turn deduplication on for it, or say "
            "--allow-no-deduplication and accept that a broken connection can store the message twice",
        ),
    )


@dataclass(frozen=True)
class _Step:
    """One action."""

    door: Door
    plan: Plan
    folder: Path
    journal: Journal
    allowed: Allowed
    pace: Pace
    action: Action

    def run(self) -> Outcome:
        """Check, note the intent, act, look again, note the result."""
        try:
            live = read_live(self.door.rest, self.action.topic)
            drifts = _checked(self.door.rest, self.journal, self.action, self.allowed, live)
        except AdminError as error:
            return self._result("failed", None, (str(error),))
        if drifts.verdict != "fits" or live is None:
            return self._result("already" if drifts.verdict == "already" else "refused", live, drifts.reasons)
        try:
            return self._republish(live) if self.action.kind == "republish" else self._acknowledge(live)
        except SourceError as error:
            # Whether it was done after all is for the next apply to find out: its intent stands in the journal.
            return self._result("failed", None, (str(error),))

    def _acknowledge(self, live: LiveTopic) -> Outcome:
        action = self.action
        self._note("begun", live)
        if action.kind == "acknowledge":
            after = self._acknowledge_each(live)
        else:
            if action.kind == "acknowledge_cumulative":
                acknowledge_cumulative(self.door.client_for(action.topic), action)
            elif action.kind == "skip":
                skip(self.door.http, action)
            elif action.kind == "unload":
                unload(self.door.http, action)
            else:
                reset_cursor(self.door.http, action)
            after = self._settled()
        if check(action, after, None, self.allowed).verdict == "already":
            return self._result("done", after, ())
        return self._result("failed", after, ("the broker accepted it, but the live state does not show it",))

    def _acknowledge_each(self, live: LiveTopic | None) -> LiveTopic | None:
        for _ in range(ROUNDS):
            subscription = live.subscriptions.get(self.action.subscription or "") if live else None
            if subscription is None:
                break
            missing = entries_of_runs(self.action.runs) - subscription.acked
            if not missing:
                break
            client = self.door.client_for(self.action.topic)
            acknowledge(client, self.action, missing, subscription.type, self.pace)
            live = self._settled()
        return live

    def _settled(self) -> LiveTopic | None:
        """The live state when it shows the action done, or when waiting is over."""
        waited = 0.0
        while True:
            live = read_live(self.door.rest, self.action.topic)
            if waited >= SETTLE_SECONDS or check(self.action, live, None, self.allowed).verdict == "already":
                return live
            self.door.sleep(0.2)
            waited += 0.2

    def _republish(self, live: LiveTopic) -> Outcome:
        action, journal, name = self.action, self.journal, producer_name(self.plan, self.action.message)
        try:
            sending = outgoing(self.door, self.plan, self.folder, action)
        except NotAsPlannedError as error:
            return self._result("refused", live, (str(error),))
        first = journal.first_begun(action)
        after = first.last_confirmed if first and first.last_confirmed else live.last_confirmed
        sealed, encrypted = sending.sealed_sha256, sending.is_encrypted
        with opened_producer(self.door.service, name, action.topic, sending.keys, encrypted=encrypted) as producer:
            # What an earlier attempt sent is stored by now or never will be: its producer is not connected any more.
            last, tried = producer.last_stored, journal.last_sequence_id(action.topic, action)
            if not (0 <= tried <= last or (first and sending.stored_after(after))):
                sequence_id = max(last, journal.last_sequence_id(action.topic)) + 1
                if action.message and action.message.origin and action.message.origin.is_own:
                    sequence_id = action.message.origin.sequence_id
                    if last >= sequence_id:
                        return self._result("refused", live, (went_on(name, last, sequence_id),))
                entries = sending.prepared(producer, sequence_id)
                self._note("begun", live, sequence_id=sequence_id, sealed_sha256=sealed)
                producer.send(entries)
                self.pace.step()
        sent = sending.stored_after(after)
        if sent is None:
            return self._result("failed", live, ("the broker accepted it, but a reader does not find it",))
        if not sent.is_same:
            return self._result("failed", live, ("what a reader gets has another hash",))
        seen = f", as it was stored (sha256 {sealed})" if sealed else ""
        return self._result("done", live, (f"stored at {sent.position[0]}:{sent.position[1]}{seen}",))

    def _result(self, status: Status, live: LiveTopic | None, notes: tuple[str, ...]) -> Outcome:
        self._note(status, live, " ".join(notes))
        return Outcome(self.action, status, notes)

    def _note(
        self, status: Status, live: LiveTopic | None, note: str = "", sequence_id: int | None = None,
        sealed_sha256: str | None = None,
    ) -> None:  # fmt: skip
        line = Line(
            action_id=self.plan.action_id(self.action),
            number=self.action.number,
            status=status,
            at_ms=self.door.now_ms(),
            who=self.door.who,
            note=note,
            sequence_id=sequence_id,
            sealed_sha256=sealed_sha256,
            last_confirmed=live.last_confirmed if live else None,
        )
        subscription = live.subscriptions.get(self.action.subscription or "") if live else None
        # What was only looked at must not become the state that later drift is measured from.
        ours = status in ("begun", "done") or (status == "already" and self.journal.first_begun(self.action))
        if subscription and ours:
            line = replace(line, mark_delete=subscription.mark_delete, acked=subscription.open_acked.as_text())
        self.journal.add(line)
