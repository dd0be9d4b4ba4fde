"""What planning reads of the tables, as values. Names are those of the columns, see docs/tables.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pulsar_backlog.chunks.rows import Verdict
from pulsar_backlog.repair.planning.cut_off_values import CutOff, CutOffName
from pulsar_backlog.repair.values import AsStored, Run
from pulsar_backlog.subscriptions.stall_values import Loss, StallVerdict
from pulsar_backlog.terms import Position

PublicationKey = tuple[str, int]
"""`chunk_uuid` and `publish_time_ms`."""

Unsure = Literal["likely", "cannot_tell"]
Republished = Literal["no", "unclear", "done"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A chunk entry that a subscription has not acknowledged.

    Attributes:
        position: where it is stored.
        owner: publication it belongs to by the table `chunks`; None when it is not there.
        role: its role there; None when it is not there.
        is_sound: whether its checksum agrees; without one its own fields cannot be believed.
        holds_more: whether it is a batch, so that there are other messages in it.
    """

    position: Position
    owner: PublicationKey | None
    role: str | None
    is_sound: bool
    holds_more: bool


@dataclass(frozen=True)
class Exported:
    """A message of the table `messages`, made of chunks of one publication and of nothing else.

    Attributes:
        position: of its last chunk.
        outcome: as in the table.
        verified: whether the payload was read again whole.
        reason: what speaks against it.
        transaction: `committed`, `aborted`, `open`, or None outside transactions.
        payload_sha256: None when the payload is not there.
        payload_bytes: None when the payload is not there.
        key: as stored; base64 where `key_is_bytes`.
        was_encrypted: whether it is encrypted in the log.
        replicate_to: clusters that its producer named.
        schema_version: None when there is none.
        schema_id: None when there is none.
        republished: whether another plan published it once more already; `unclear` when it began to.
    """

    position: Position
    verified: bool
    reason: str = ""
    transaction: str | None = None
    payload_sha256: str | None = None
    payload_bytes: int | None = None
    key: str | None = None
    key_is_bytes: bool = False
    ordering_key: bytes | None = None
    event_time_ms: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    was_encrypted: bool = False
    replicate_to: tuple[str, ...] = ()
    schema_version: bytes | None = None
    schema_id: bytes | None = None
    republished: Republished = "no"
    outcome: str = "exported"


@dataclass(frozen=True)
class Stored:
    """An encrypted message that lies in the log whole, and could be published as it is stored.

    Attributes:
        as_stored: its entries.
        size_bytes: of their payloads as stored.
        keys: how many keys it is encrypted for.
        batch_size: messages in it; None when it is no batch.
        has_schema: whether it names a version of a schema.
        fault: what speaks against publishing it as it is stored; empty when nothing does.
        transaction: `committed`, `aborted`, `open`, or None outside transactions.
        republished: as of `Exported`.
    """

    as_stored: AsStored
    size_bytes: int
    keys: int = 1
    batch_size: int | None = None
    has_schema: bool = False
    fault: str = ""
    transaction: str | None = None
    republished: Republished = "no"

    @property
    def position(self) -> Position:
        """Of its last entry."""
        return self.as_stored.entries[-1].position


@dataclass(frozen=True)
class Named:
    """A message that the user names, to be republished.

    Attributes:
        position: of any of its entries.
        key: names its publication; None when it is not chunked.
        encrypted: whether it is.
        stored: None when it is chunked, not encrypted, or not to be published as it is stored.
    """

    position: Position
    key: PublicationKey | None
    encrypted: bool
    stored: Stored | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicationFacts(Verdict):
    """The verdict on a publication, with its export and what clients make of it.

    Attributes:
        exported: None when there is no export of it.
        losses: by the models that were chosen.
        stored: None unless it is encrypted, whole, and to be published as it is stored.
    """

    exported: Exported | None = None
    losses: tuple[Loss, ...] = ()
    stored: Stored | None = None

    @property
    def republished(self) -> Republished:
        """Whether it was republished already, by what is known of its export or of its entries."""
        positions = {one.republished for one in (self.exported, self.stored) if one is not None}
        return "done" if "done" in positions else "unclear" if "unclear" in positions else "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class StallFacts(StallVerdict):
    """A row of `stalls`, with its entries looked up again.

    Attributes:
        entries: its `unacked_positions`.
        unacked_entries: how many there are; more than `entries` when there are very many.
        redelivered_entries: entries of other messages from its first chunk to mark-delete; 0 unless its action is a
            reset.
        copy: topic and position of a dead letter that holds the same message, verified; None when there is none.
    """

    subscription: str
    entries: tuple[Entry, ...]
    unacked_entries: int
    unacked_bytes: int
    redelivered_entries: int = 0
    copy: str | None = None

    @property
    def key(self) -> PublicationKey:
        """Names its publication."""
        return self.chunk_uuid, self.publish_time_ms


@dataclass(frozen=True)
class Unloadable:
    """Why a subscription did not drain, where an unload of its topic frees it: an element of `holdups`."""

    kind: str
    code: str
    evidence: str
    advice: str


@dataclass(frozen=True)
class Subscription:
    """A row of `subscriptions`; None where nothing says.

    Attributes:
        unloadable: what an unload of its topic frees.
        leaves_dead_letters: whether chunks of messages seem to be left behind that went to its dead-letter topic.
    """

    name: str
    type: str | None = None
    mark_delete: Position | None = None
    unloadable: tuple[Unloadable, ...] = ()
    leaves_dead_letters: bool = False


@dataclass(frozen=True)
class Restored:
    """Entries that a subscription had acknowledged in an earlier audit, and has not now.

    Attributes:
        batches: of which a part was acknowledged then, and nothing is now.
        left_runs: how many more there are than `runs`; they wait for another plan.
        earlier: where mark-delete was then.
        sureness: of the earlier state.
    """

    subscription: str
    runs: tuple[Run, ...]
    bytes: int
    earlier: Position | None
    sureness: str
    reason: str
    batches: int = 0
    left_runs: int = 0


@dataclass(frozen=True)
class TopicFacts:
    """All that is known of one topic partition.

    Attributes:
        publications: at least those of every uuid that a stall names, all of each uuid.
        settings: name, value and reason.
        named: messages that the user names.
        cut_off: what was confirmed behind the recorded ends of its ledgers.
    """

    topic: str
    publications: tuple[PublicationFacts, ...] = ()
    stalls: tuple[StallFacts, ...] = ()
    subscriptions: tuple[Subscription, ...] = ()
    settings: tuple[tuple[str, str, str], ...] = ()
    restored: tuple[Restored, ...] = ()
    named: tuple[Named, ...] = ()
    cut_off: tuple[CutOff, ...] = ()


@dataclass(frozen=True)
class Choices:
    """What the user asks of a plan.

    Attributes:
        republish_to: `same`, `file`, or the full name of another topic.
        accept_unsure: how unsure it may be that a message is lost for good; None only takes what is certain.
        subscriptions: globs; any may match; empty takes all.
        codes: of findings; empty takes all.
        until_ms: latest publish time of what is repaired; None takes all.
        max_count: actions at most, advice not counted.
        max_bytes: sum of their `size_bytes` at most.
        as_stored: whether encrypted messages are published as they are stored.
        give_up: an entry each of chunk sets that are acknowledged although no export verifies their message.
        cut_off: whether what was confirmed behind the ends of ledgers is republished, and by whom; None leaves it.
    """

    republish_to: str = "same"
    accept_unsure: Unsure | None = None
    subscriptions: tuple[str, ...] = ()
    codes: frozenset[str] = frozenset()
    until_ms: int | None = None
    max_count: int | None = None
    max_bytes: int | None = None
    as_stored: bool = False
    give_up: frozenset[Position] = frozenset()
    cut_off: CutOffName | None = None


@dataclass(frozen=True)
class HeldBack:
    """What a plan leaves alone.

    Attributes:
        subscription: None when it is about all.
        why: a sentence.
        next_step: what would change that; empty when nothing need be done.
        at: an entry of the chunk set that is not acknowledged, as commands name it; None when it is about none.
    """

    topic: str
    subscription: str | None
    chunk_uuid: str
    publish_time_ms: int
    why: str
    next_step: str = ""
    at: str | None = None
