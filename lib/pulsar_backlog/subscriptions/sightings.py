"""What the saved folder says of cursors -> the newest state of each, and what is wrong with it. No Spark here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from pulsar_backlog.cluster.saved_cursors import SavedCursor
from pulsar_backlog.cluster.stored_values import SavedCursorLedger, StoredValue
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.cursors.acked import AckedSet, acked_set
from pulsar_backlog.cursors.decode import decode_cursor_info
from pulsar_backlog.cursors.faults import faults_of, unknown_properties
from pulsar_backlog.cursors.newest import Newest, Sighting, newest
from pulsar_backlog.cursors.recover import UNKNOWN_CODEC, Fault, recover
from pulsar_backlog.cursors.values import AckState
from pulsar_backlog.errors import DecodeError
from pulsar_backlog.findings import Finding
from pulsar_backlog.subscriptions.ledger_lengths import Lengths, ledger_lengths

CODEC_KEY = "pulsar/cursor-compressionType"
DEDUPLICATION = "pulsar.dedup"
"""The cursor in which brokers keep the last sequence id of each producer."""


@dataclass
class CursorView:
    """One cursor of one topic, with everything that was said of it.

    Attributes:
        topic: full name.
        name: of the subscription.
        sightings: in the order they were read.
        findings: what is wrong with its state.
    """

    topic: str
    name: str
    sightings: list[Sighting] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def newest(self) -> Newest:
        """The newest state; there is at least one sighting."""
        return newest(self.sightings)


@dataclass(frozen=True)
class CursorViews:
    """All cursors, and the ledgers of their topics.

    Attributes:
        cursors: by topic and name.
        lengths: entries of each ledger of a topic, None while open or unknown, by topic.
        findings: files and values that could not be used.
    """

    cursors: Mapping[tuple[str, str], CursorView]
    lengths: Mapping[str, dict[int, int | None]]
    findings: tuple[Finding, ...]


def cursor_views(state: ClusterState, stored_lengths: Mapping[str, Lengths]) -> CursorViews:
    """Every cursor that the folder tells of.

    Args:
        state: what the folder says.
        stored_lengths: entries of the stored ledgers by topic, None where not known.
    """
    findings: list[Finding] = []
    lengths = ledger_lengths(state, stored_lengths, findings)
    views: dict[tuple[str, str], CursorView] = {}
    for topic in state.topics.values():
        for saved in topic.cursors:
            _see(views, topic.topic, saved.name, _of_document(saved, lengths.get(topic.topic, {})), saved, lengths)
    for value in state.stored_values:
        if value.cursor is not None:
            _see_value(views, value, lengths, findings)
    for ledger in _joined(state.cursor_ledgers).values():
        _see_ledger(views, ledger, lengths, findings)
    for view in views.values():
        view.findings += _disagreements(view)
    return CursorViews(views, lengths, tuple(findings))


def _view(views: dict[tuple[str, str], CursorView], topic: str, name: str) -> CursorView:
    return views.setdefault((topic, name), CursorView(topic, name))


def _see(
    views: dict[tuple[str, str], CursorView], topic: str, name: str, state: AckState | None, saved: SavedCursor,
    lengths: Mapping[str, Lengths],
) -> None:  # fmt: skip
    view = _view(views, topic, name)
    if state is None:
        view.findings.append(_finding("K10", view, f"{saved.file}: no mark-delete position is given.", saved.file))
        return
    if not saved.whole_text:
        message = f"{saved.file}: a part of the acknowledged ranges is not readable and counts as not acknowledged."
        view.findings.append(_finding("K10", view, message, saved.file))
    view.findings += _faults(view, state, lengths.get(topic, {}), saved.file)
    live = saved.source == "stats_internal"
    view.sightings.append(
        Sighting(
            source=saved.source,
            file=saved.file,
            acked=acked_set(state, lengths.get(topic)),
            whole=live or saved.stored_state,
            cursor_ledger_id=saved.cursor_ledger_id,
            entry_id=saved.cursor_ledger_entry_id,
            exact_ms=None if live else saved.saved_ms,
            after_ms=saved.saved_ms if live else None,
            read_position=saved.read_position,
        )
    )


def _of_document(saved: SavedCursor, lengths: Lengths) -> AckState | None:
    if saved.mark_delete is None:
        return None
    return AckState(saved.mark_delete, np.array(saved.ranges, dtype=np.int64).reshape(-1, 4))


def _see_value(
    views: dict[tuple[str, str], CursorView],
    value: StoredValue,
    lengths: Mapping[str, Lengths],
    findings: list[Finding],
) -> None:
    view = _view(views, value.topic, value.cursor or "")
    try:
        info = decode_cursor_info(value.value)
    except DecodeError as error:
        findings.append(
            _finding("K10", view, f"{value.file}: not a cursor's value: {error}.", value.file, error.offset)
        )
        return
    if info.state is None:
        return
    view.findings += _faults(view, info.state, lengths.get(value.topic, {}), value.file, info.cursor_properties)
    view.sightings.append(
        Sighting(
            source="metadata_store",
            file=value.file,
            acked=acked_set(info.state, lengths.get(value.topic)),
            state=info.state,
            whole=info.cursors_ledger_id < 0,
            cursor_ledger_id=info.cursors_ledger_id if info.cursors_ledger_id >= 0 else None,
            exact_ms=value.modified_ms,
            compression=info.compression,
            stored_bytes=len(value.value),
        )
    )


def _see_ledger(
    views: dict[tuple[str, str], CursorView], ledger: SavedCursorLedger, lengths: Mapping[str, Lengths],
    findings: list[Finding],
) -> None:  # fmt: skip
    if not ledger.entries:
        return
    owner = _owner(views, ledger)
    if owner is None:
        message = f"{ledger.file}: nothing says whose cursor ledger {ledger.ledger_id} is."
        findings.append(
            Finding("K14", ledger.file, message, ledger_id=ledger.ledger_id, reason="read from the saved file")
        )
        return
    of_topic = lengths.get(owner.topic, {})
    codec = UNKNOWN_CODEC if ledger.custom is None else ledger.custom.get(CODEC_KEY)
    recovered = recover(ledger.entries, codec, of_topic or None)
    if recovered.faults:
        owner.findings.append(_torn(owner, ledger, recovered.faults))
    if recovered.state is None:
        return
    owner.findings += _faults(owner, recovered.state, of_topic, ledger.file)
    owner.sightings.append(
        Sighting(
            source="cursor_ledger",
            file=ledger.file,
            acked=acked_set(recovered.state, of_topic),
            state=recovered.state,
            cursor_ledger_id=ledger.ledger_id,
            entry_id=recovered.entry_id,
            recovered=recovered,
            compression=recovered.codec,
            stored_bytes=recovered.stored_bytes,
        )
    )


def _torn(owner: CursorView, ledger: SavedCursorLedger, faults: tuple[Fault, ...]) -> Finding:
    """One finding for all entries that are not whole states: parts of one state fail one by one."""
    first = faults[0]
    code = "K06" if any(fault.what == "torn" for fault in faults) else "K10"
    more = f" (and {len(faults) - 1} before it)" if len(faults) > 1 else ""
    message = f"Entry {first.entry_id} of cursor ledger {ledger.ledger_id}{more} is not a whole state: {first.detail}."
    return _finding(code, owner, message, ledger.file, first.entry_id)


def _owner(views: dict[tuple[str, str], CursorView], ledger: SavedCursorLedger) -> CursorView | None:
    if ledger.topic and ledger.cursor:
        return _view(views, ledger.topic, ledger.cursor)
    named = [v for v in views.values() if any(s.cursor_ledger_id == ledger.ledger_id for s in v.sightings)]
    return named[0] if len(named) == 1 else None


def _joined(ledgers: tuple[SavedCursorLedger, ...]) -> dict[int, SavedCursorLedger]:
    """Files about one ledger put together: entries of all, custom metadata of whichever has it."""
    joined: dict[int, SavedCursorLedger] = {}
    for one in ledgers:
        had = joined.get(one.ledger_id)
        if had is None:
            joined[one.ledger_id] = one
            continue
        named = had if had.custom is not None else one
        full = had if had.entries else one
        joined[one.ledger_id] = SavedCursorLedger(
            one.ledger_id, full.file, {**one.entries, **had.entries}, named.topic, named.cursor, named.custom
        )
    return joined


_READ = "read from the saved file"


def _faults(
    view: CursorView, state: AckState, lengths: Lengths, file: str, more_properties: Iterable[str] = ()
) -> Iterator[Finding]:
    names = () if view.name == DEDUPLICATION else (*state.properties, *more_properties)
    for fault in (*faults_of(state, lengths), *unknown_properties(names)):
        yield Finding(
            fault.code, f"{view.topic} {view.name}: {fault.what} in {file}", f"{file}: {fault.what}: {fault.count}.",
            topic=view.topic, count=fault.count, reason=_READ, evidence=fault.evidence,
        )  # fmt: skip


def _disagreements(view: CursorView) -> Iterator[Finding]:
    """A finding where sources say different things and not merely one after the other."""
    if not view.sightings:
        return
    newest = view.newest()
    same_age = [s for s in newest.differing if not _is_older(s, newest.chosen)]
    if same_age:
        chosen = newest.chosen
        names = ", ".join(f"{s.file} ({_size(s.acked)})" for s in same_age)
        yield Finding(
            "K13", f"{view.topic} {view.name}",
            f"{chosen.file} ({_size(chosen.acked)}) is taken for the newest state; others differ: {names}.",
            topic=view.topic, count=len(same_age),
            sureness=newest.sureness,
            reason=newest.reason, evidence=tuple(s.file for s in same_age),
        )  # fmt: skip
    back = [s for s in newest.differing if s.acked.mark_delete > newest.chosen.acked.mark_delete]
    if back:
        mark = "{}:{}".format(*newest.chosen.acked.mark_delete)
        yield Finding(
            "K04", f"{view.topic} {view.name}",
            f"Mark-delete is at {mark} in the newest state and was further on in an older one: {back[0].file}.",
            topic=view.topic, sureness="likely", reason=newest.reason, evidence=tuple(s.file for s in back),
        )  # fmt: skip


def _is_older(one: Sighting, chosen: Sighting) -> bool:
    """Whether a difference is only what time made of one state: everything there is acknowledged here too."""
    return one.acked.is_subset(chosen.acked)


def _size(acked: AckedSet) -> str:
    return "mark-delete {}:{}, {} more".format(*acked.mark_delete, acked.entry_count())


def _finding(code: str, view: CursorView, message: str, file: str, offset: int | None = None) -> Finding:
    at = "" if offset is None else f" at {offset}"
    return Finding(code, f"{view.topic} {view.name} in {file}{at}", message, topic=view.topic, reason=_READ)
