"""What `locate` found, in words: where to seek, and what to beware of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

from pulsar_backlog.foreign_text import visible
from pulsar_backlog.report.terminal.sentences import print_sentences
from pulsar_backlog.terms import INCOMPLETE
from pulsar_backlog.wire.message_id import MessageId

_PARTITION = re.compile(r"-partition-(\d{1,9})$", re.ASCII)


@dataclass(frozen=True)
class Located:
    """One answer.

    Attributes:
        asked: what was asked for, as given.
        cluster: cluster whose tables say so.
        topic: full name of the topic partition.
        position: the entry itself, `ledger:entry`; None when no entry is at or after the time.
        seek: where an inclusive seek must go, `ledger:entry`.
        message_id: first and last chunk, as Java prints the id of a chunked message; None for others.
        words: what it is, one sentence.
        notes: what to beware of.
        clock: `publish` or `broker` where a time was asked for.
        window: first and last position between which the time is ambiguous; None when it is not.
        state: state of the chunked message; None for others.
        publish_time: by the producer's clock, ISO 8601.
        broker_time: by the broker's clock.
        index: the broker's index of the entry's last message.
    """

    question: str
    cluster: str
    topic: str | None
    position: str | None
    seek: str | None
    message_id: str | None
    words: str
    notes: tuple[str, ...] = ()
    clock: str | None = None
    window: tuple[str, str] | None = None
    state: str | None = None
    publish_time: str | None = None
    broker_time: str | None = None
    index: int | None = None


def located_entry(question: str, row: Mapping[str, Any], notes: Sequence[str] = ()) -> Located:
    """The answer for one row of the view `seek_positions`."""
    return Located(
        question=question,
        cluster=row["cluster"],
        topic=row["topic"],
        position=_place(row, ""),
        seek=_place(row, "seek_"),
        message_id=_message_id(row),
        words=_words(row),
        notes=(*notes, *_warnings(row)),
        state=row["state"],
        publish_time=_iso(row["publish_time"]),
        broker_time=_iso(row["broker_timestamp"]),
        index=row["last_index"],
    )


def located_time(question: str, side: Mapping[str, Any], row: Mapping[str, Any] | None) -> Located:
    """The answer of one clock on one topic.

    Args:
        question: the time as given.
        side: a row of `Positions.around`.
        row: the row of `seek_positions` for the first entry at or after the time; None when there is none.
    """
    before, clock = side["before"], side["clock"]
    whose = "the producers' clocks" if clock == "publish" else "the broker's clock"
    if row is None:
        end = f"by {whose}, everything stored is before it" if before else f"no entry has a time by {whose}"
        return Located(question, side["cluster"], side["topic"], None, None, None, end, clock=clock)
    place = located_entry(question, row)
    notes = [place.words] if place.position != place.seek else []
    late = before is not None and (before["ledger_id"], before["entry_id"]) > (row["ledger_id"], row["entry_id"])
    window = (str(place.position), _place(before, "")) if late else None
    if window:
        notes.append(f"times do not rise here: a seek by time may land anywhere up to {window[1]}, past newer entries")
    words = f"by {whose} the first entry at or after it is {place.position}"
    return replace(place, words=words, notes=(*notes, *place.notes), clock=clock, window=window)


def doubts_about_id(wanted: MessageId, row: Mapping[str, Any]) -> Iterator[str]:
    """What an id says and the tables do not.

    Args:
        wanted: the id.
        row: of `seek_positions`: the entry at its ledger and entry id.
    """
    if wanted.batch_index is not None and wanted.batch_index >= (row["num_messages_in_batch"] or 1):
        messages = row["num_messages_in_batch"] or 1
        yield f"the id names message {wanted.batch_index} of a batch, but the entry holds {messages}"
    if not _partition_can_be(wanted, row):
        named = f"the id names partition {wanted.partition}"
        yield f"{named}, but the ledger belongs to this topic: is it another cluster's id?"
    seek = (row["seek_ledger_id"], row["seek_entry_id"])
    if wanted.first_chunk is not None and wanted.first_chunk != seek:
        yield f"the id names {wanted.first_chunk[0]}:{wanted.first_chunk[1]} as the first chunk, which it is not here"
    if row["state"] is not None and wanted.first_chunk is None and seek != (wanted.ledger_id, wanted.entry_id):
        yield "clients that seek to this id begin in mid-message and skip the message: seek to the position instead"


def _partition_can_be(wanted: MessageId, row: Mapping[str, Any]) -> bool:
    """Whether some client names this entry so.

    Go writes 0 for whatever it reads by its own name; `pulsar-admin topics peek-messages` writes the place in a batch.
    """
    named = _PARTITION.search(row["topic"] or "")
    if wanted.partition in (None, 0) or (named is not None and wanted.partition == int(named[1])):
        return True
    return wanted.batch_index is None and (wanted.partition or 0) < (row["num_messages_in_batch"] or 0)


def print_located(places: Sequence[Located], console: Console) -> None:
    """Sentences on a terminal, JSON lines elsewhere."""
    for one in places:
        print_sentences(_lines(one), asdict(one), console)


def _lines(one: Located) -> Iterator[str]:
    yield f"{visible(one.question)}: {visible(one.words)}"
    yield f"  topic   {visible(one.topic or 'unknown')}"
    if one.seek:
        yield f"  seek    {one.seek}, inclusive"
    if one.message_id:
        yield f"  message {one.message_id} ({one.state})"
    times = (("published", one.publish_time), ("stored", one.broker_time))
    yield from (f"  {name:<9} {time}" for name, time in times if time)
    yield from (f"  note    {visible(note)}" for note in one.notes)


def _words(row: Mapping[str, Any]) -> str:
    place = _place(row, "")
    if row["marker_type"] is not None:
        return f"{place} is a marker that the broker wrote for its own use, not a message"
    if row["state"] is not None:
        of_it = f"chunk {row['chunk_id']} of {row['num_chunks']}, counted from 0"
        headless = row["state"] == "headless" and not row["is_mixed"]
        begins = "the earliest chunk that is stored is" if headless else "its message begins at"
        return f"{place} is {of_it}; {begins} {_place(row, 'seek_')}"
    if (row["num_messages_in_batch"] or 0) > 1:
        return f"{place} is a batch of {row['num_messages_in_batch']} messages"
    return f"{place} is a message"


def _warnings(row: Mapping[str, Any]) -> Iterator[str]:
    state = row["state"]
    if row["is_further_copy"]:
        yield "it is also stored whole before this: clients deliver each copy"
    if row["is_mixed"]:
        yield f"here clients join chunks of two publications and deliver the mixture from {_place(row, 'seek_')} on"
    elif state in INCOMPLETE:
        yield f"the message is not whole ({state}, {row['sureness']}): no client delivers it"
    elif state == "in_flight":
        yield "the message may still be arriving"
    elif state == "out_of_order":
        yield "its chunks are stored out of order: no client delivers it; rebuild it from chunk_manifests"


def _message_id(row: Mapping[str, Any]) -> str | None:
    if row["state"] is None:
        return None
    return f"{row['seek_ledger_id']}:{row['seek_entry_id']};{row['message_ledger_id']}:{row['message_entry_id']}"


def _place(row: Mapping[str, Any], prefix: str) -> str:
    return f"{row[f'{prefix}ledger_id']}:{row[f'{prefix}entry_id']}"


def _iso(time: datetime | None) -> str | None:
    """Times of the tables are UTC, without a zone."""
    return None if time is None else time.replace(tzinfo=UTC).isoformat(timespec="milliseconds")
