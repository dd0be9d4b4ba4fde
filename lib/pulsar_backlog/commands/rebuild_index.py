"""`rebuild-index`: a new index for a ledger whose data object or MapFile lost its own."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pulsar_backlog.arguments import absolute, source_of
from pulsar_backlog.commands.options import Given, SourceArgument, job_options
from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.ledgers.storage_kinds import STORAGE_KINDS
from pulsar_backlog.options import given_options
from pulsar_backlog.options.printed import COMMAND_OPTIONS
from pulsar_backlog.terminal import terminal

if TYPE_CHECKING:
    from pulsar_backlog.cluster.values import LedgerRecord
    from pulsar_backlog.ledgers.copies import Pair
    from pulsar_backlog.ledgers.rebuilt_index import RebuiltIndex
    from pulsar_backlog.ledgers.store import Source

_TO = "folder for the new index object; no file in it is overwritten"


@job_options(
    *COMMAND_OPTIONS["rebuild-index"],
    required=("to",), words={"to": _TO},
)  # fmt: skip
def rebuild_index(
    source: SourceArgument,
    ledger: Annotated[int, typer.Argument(metavar="LEDGER", min=0, help="id of the ledger", show_default=False)],
    given: Given,
    copy: Annotated[str | None, typer.Option(help="UUID of the offload attempt, where there are several")] = None,
) -> None:
    """Make an index for a data object or MapFile that lost its own, and read the ledger through it; needs no broker."""
    from pulsar_backlog.ledgers.rebuilt_index import object_metadata
    from pulsar_backlog.report.terminal.rebuilt import Rebuilt, print_rebuilt, upload_command
    from pulsar_backlog.runs.apart import check_apart

    options = given_options({**given, "source": absolute("source", source)})
    opened = source_of(options)
    check_apart(options.source, options.to, "--to")
    folder = _folder(options.to or "")
    broker = _broker(options.admin, ledger)
    pair = _chosen(opened, ledger, copy, broker)
    kind = STORAGE_KINDS[pair.kind]
    data = pair.data.path if pair.data else ""
    file = folder / _name(pair)
    if file.exists():
        raise UsageError(f"{file} exists already and is not overwritten: choose another --to")
    of_data = opened.user_metadata(data) if kind.names_itself else {}
    managed_ledger = _managed_ledger(of_data.get("managedledgername"), broker)
    made = _rebuilt(opened, pair, managed_ledger, broker)
    _write_new(file, made.body)
    metadata = object_metadata(of_data, managed_ledger) if kind.names_itself else {}
    fields = {name: value for name, value in asdict(made).items() if name != "body"}
    upload = upload_command(opened.uri(data), file, metadata, options.endpoint) if kind.names_itself else None
    print_rebuilt(
        Rebuilt(
            ledger, pair.copy, pair.kind, opened.uri(data), str(file), object_metadata=metadata, upload=upload, **fields
        ),
        terminal(),
    )


def _name(pair: Pair) -> str:
    """Where the index goes within the folder that was asked for."""
    data = (pair.data.path if pair.data else "").rsplit("/", 2)
    named = STORAGE_KINDS[pair.kind].names_itself
    return f"{data[-1]}-index" if named else f"{pair.ledger_id}-{pair.copy.partition('#')[0]}/index"


def _rebuilt(source: Source, pair: Pair, managed_ledger: str | None, broker: LedgerRecord | None) -> RebuiltIndex:
    from pulsar_backlog.ledgers import rebuilt_index
    from pulsar_backlog.ledgers.mapfile import rebuilt_index as of_mapfile

    if STORAGE_KINDS[pair.kind].index_row == "pair":
        return of_mapfile.rebuild_index(source, pair, broker)
    return rebuilt_index.rebuild_index(source, pair, managed_ledger, broker)


def _folder(place: str) -> Path:
    if "://" in place:
        raise UsageError(f"--to {place}: name a folder; the command that uploads the index from there is shown then")
    folder = Path(place)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--to {place} cannot be written to ({error.strerror}): choose another folder") from error
    return folder


def _broker(admin: str | None, ledger_id: int) -> LedgerRecord | None:
    """What saved admin JSON says of the ledger."""
    from pulsar_backlog.cluster.required_state import required_state
    from pulsar_backlog.cluster.values import broker_copies

    return None if admin is None else broker_copies(required_state(Path(admin), {})).get(ledger_id)


def _chosen(source: Source, ledger_id: int, copy: str | None, broker: LedgerRecord | None) -> Pair:
    """The copy to index.

    Raises:
        UsageError: there is none, or several, or it has an index that agrees with its data.
    """
    from pulsar_backlog.ledgers.kinds import examine
    from pulsar_backlog.ledgers.listing import take_listing

    listing = take_listing(source)
    pairs = [pair for pair in listing.pairs if pair.ledger_id == ledger_id and pair.data is not None]
    if not pairs and listing.unreadable:
        hidden = listing.unreadable[0]
        raise SourceError(
            hidden.uri, hidden.reason, f"no part of the source that could be listed holds ledger {ledger_id}"
        )
    if not pairs:
        raise UsageError(f"the source holds no data object of ledger {ledger_id}")
    wanted = copy or (broker.uuid if broker and any(pair.copy == broker.uuid for pair in pairs) else None)
    chosen = [pair for pair in pairs if wanted in (None, pair.copy)]
    if len(chosen) != 1:
        uuids = ", ".join(pair.copy for pair in pairs)
        raise UsageError(f"ledger {ledger_id} is stored as {uuids}: name one with --copy")
    pair = chosen[0]
    attempt = examine(source, pair)
    if attempt.has_index and not any(problem.code in ("S08", "S09", "S23") for problem in attempt.problems):
        codes = ", ".join(sorted({problem.code for problem in attempt.problems}))
        rest = f"; what is wrong with the data ({codes}) a new one would not mend" if codes else ""
        raise UsageError(f"ledger {ledger_id} has an index that does not contradict itself or its data{rest}")
    return pair


def _managed_ledger(of_object: str | None, broker: LedgerRecord | None) -> str | None:
    from pulsar_backlog.wire.names import managed_ledger_of_topic

    of_broker = managed_ledger_of_topic(broker.topic) if broker else None
    if of_object and of_broker and of_object != of_broker:
        raise UsageError(
            f"the data object belongs to managed ledger {of_object!r}, --admin names {of_broker!r}: they are of "
            "different clusters, or the object is not this ledger's"
        )
    return of_object or of_broker


def _write_new(file: Path, body: bytes) -> None:
    """Write a file that was not there; half a file does not stay.

    Raises:
        UsageError: it is there by now, or cannot be written.
    """
    try:
        file.parent.mkdir(exist_ok=True)
        with file.open("xb") as out:
            try:
                out.write(body)
                out.flush()
                os.fsync(out.fileno())
            except BaseException:
                file.unlink()
                raise
    except FileExistsError as error:
        raise UsageError(f"{file} exists already and is not overwritten: choose another --to") from error
    except OSError as error:
        raise UsageError(f"{file} cannot be written ({error.strerror}): choose another --to") from error
