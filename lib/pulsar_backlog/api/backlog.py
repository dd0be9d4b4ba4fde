"""`open`: the history of topics as Arrow rows, read from where the ledgers lie. No Spark, no audit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Literal, Unpack

import pyarrow as pa

from pulsar_backlog.api.block_times import trimmed
from pulsar_backlog.api.choices import (
    ALLOWED_LATENESS_SECONDS,
    MAX_MESSAGE_BYTES,
    Mode,
    Names,
    Reading,
    Time,
    Visible,
    checked_mode,
    checked_visible,
    several,
    wanted_of,
)  # fmt: skip
from pulsar_backlog.api.compaction import saved_horizon
from pulsar_backlog.api.decoding_threads import threads_here
from pulsar_backlog.api.entry_reader import entry_batches, unit_entries
from pulsar_backlog.api.listing import Listings
from pulsar_backlog.api.malformed import by_mode
from pulsar_backlog.api.message_reader import FIRST_BYTES, MessageReader, columns_for
from pulsar_backlog.api.record_readers import projected, record_reader
from pulsar_backlog.api.source_options import SourceKeywords, checked_options
from pulsar_backlog.api.typed import message_schema, row_decoder
from pulsar_backlog.api.wanted import Wanted
from pulsar_backlog.arguments import live_of, source_of
from pulsar_backlog.errors import UsageError
from pulsar_backlog.ledgers.kinds import walk_unit
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.messages.entry_rows import ExportContext
from pulsar_backlog.messages.keys import KeySource
from pulsar_backlog.messages.masking import check_masks, masks_of
from pulsar_backlog.messages.payloads import PayloadStore
from pulsar_backlog.options import Options
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.terms import Position

if TYPE_CHECKING:
    from pulsar_backlog.ledgers.values import LedgerCopy, ScanUnit
    from pulsar_backlog.report.terminal.explain import ExplainModel
    from pulsar_backlog.schemas.values import TopicSchemas


def open(source: str, **options: Unpack[SourceKeywords]) -> Backlog:
    """Open a folder, a bucket, folders of bookies, or live topics; nothing but their existence is looked at yet.

    Args:
        source: as the command line takes it: a folder, `s3://`, `gs://`, `az://`, `bookies:`, `pulsar://`.
        options: by the names of the command line's options, with `_` for `-`.

    Raises:
        UsageError: there is no such source, or an option is wrong.
    """
    return Backlog(checked_options(source, options))


class Backlog:
    """Topics in a source. Make it with `pulsar_backlog.open`.

    The ledgers are listed when first asked for, once; open the source again to see newer ones.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._source = source_of(options, live_of(options))
        self._listings = Listings(options)
        self._keys = KeySource(options.private_keys, options.private_keys_command)

    def topics(self) -> list[str]:
        """Full names of the topics, sorted. Ledgers whose topic nothing names are left out."""
        return sorted({copy.topic for copy in self._listings.of().copies if copy.topic is not None})

    def ledgers(self, topic: Names = ()) -> pa.RecordBatchReader:
        """Stored copies of ledgers, as rows of the table `ledgers`."""
        schema = arrow_schema(TABLES["ledgers"])
        listing = self._listings.of(several(topic))
        wanted = listing.with_migrated(Wanted(topics=several(topic)))
        rows = [copy.row(self._cluster) for copy in listing.inventory.copies if wanted.holds(copy)]
        return pa.RecordBatchReader.from_batches(schema, iter([pa.RecordBatch.from_pylist(rows, schema=schema)]))

    def entries(
        self,
        topic: Names = (),
        *,
        ledgers: Iterable[int] = (),
        start: str | None = None,
        end: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        producer: Names = (),
        key: Names = (),
        columns: Sequence[str] | None = None,
        mode: Mode = "permissive",
        allowed_lateness_seconds: int = ALLOWED_LATENESS_SECONDS,
    ) -> pa.RecordBatchReader:
        """Stored entries, as rows of the table `entries`: metadata and places, no payload.

        Args:
            topic: full names or globs, as `--topic` takes them; none is all topics.
            ledgers: ledger ids; none is all.
            start: first position wanted, `LEDGER:ENTRY`.
            end: first position not wanted any more.
            since: first publish time wanted.
            until: first publish time not wanted any more.
            producer: producer names.
            key: keys of entries; a batch has the key of its entry, see `messages` for those of its members.
            columns: names of columns in the order wanted; None is all.
            mode: an entry that cannot be decoded has no row (`dropmalformed` and `permissive`), or is a `DecodeError`.
            allowed_lateness_seconds: how far the times of an entry may be from the time when its ledger took it.

        Returns:
            A reader of rows that are decoded as they are asked for, in the order stored, topic after topic.

        Raises:
            UsageError: no topic matches, or an argument is wrong.
            SourceError, DecodeError: from the reader.
        """
        wanted = wanted_of(topic, ledgers, start, end, since, until, producer, key, allowed_lateness_seconds)
        schema = projected(arrow_schema(TABLES["entries"]), columns)
        copies = self.copies_for(wanted)
        rows = entry_batches(self._source, copies, self._cluster, wanted, failfast=checked_mode(mode) == "failfast")
        return record_reader(schema, self._read(rows))

    def messages(
        self,
        topic: Names = (),
        *,
        ledgers: Iterable[int] = (),
        since: Time | None = None,
        until: Time | None = None,
        producer: Names = (),
        key: Names = (),
        transactions: Literal["committed", "all"] = "committed",
        visible: Visible = "committed",
        columns: Sequence[str] | None = None,
        mode: Mode = "permissive",
        max_message_bytes: int = MAX_MESSAGE_BYTES,
        decode: bool | str = False,
        mask: Names = (),
        allowed_lateness_seconds: int = ALLOWED_LATENESS_SECONDS,
    ) -> pa.RecordBatchReader:
        """Messages as applications sent them, as rows of the table `messages`, with their payload.

        Batches are opened, chunked messages are put together, payloads decrypted and decompressed.

        Args:
            topic: full names or globs, as `--topic` takes them; none is all topics.
            ledgers: ledger ids; none is all. A chunked message is in the ledger of its last chunk.
            since: first publish time wanted.
            until: first publish time not wanted any more.
            producer: producer names.
            key: message keys.
            transactions: `all` is the same as `visible="stored"`.
            visible: `stored` has messages of aborted and open transactions too, `compacted` only what a reader of the
                compacted topic gets.
            columns: names of columns in the order wanted; None is all.
            mode: a message that cannot be opened is a row whose `outcome` and `reason` say why (`permissive`), is
                left out (`dropmalformed`), or an error (`failfast`).
            max_message_bytes: a larger payload is not put into a row, whose `outcome` is then `too_large`.
            decode: True adds columns `value`, of KeyValue `key`, and `decode_error`: payloads by their topic's schemas,
                as the newest of them; `schema:3` as version 3; `json`, `text`, `bytes` or `avro-with:FILE` whatever
                schema they name.
            mask: `COLUMN=null`, `COLUMN=hash` or `COLUMN=redact`; fields within a column after dots.
            allowed_lateness_seconds: how far the times of a message may be from the time when its ledger took it.

        Returns:
            A reader of rows that are made as they are asked for. They come about in the order stored, topic after
            topic: a chunked message follows its last chunk.

        Raises:
            UsageError: no topic matches, an argument is wrong, or no schema is known.
            SourceError, DecodeError: from the reader.
        """
        wanted = wanted_of(topic, ledgers, None, None, since, until, producer, key, allowed_lateness_seconds)
        copies = self.copies_for(wanted)
        schemas = self.schemas_of(copies, decode)
        schema, masks = message_schema(schemas), masks_of(several(mask))
        check_masks(masks, schema)
        shown = checked_visible(visible, transactions)
        projection = projected(schema, columns)
        names = None if columns is None else tuple(columns)
        reading = Reading(
            checked_mode(mode), shown, max_message_bytes, schemas=schemas, masks=masks, columns=names,
            threads=threads_here() if decode else 1,
        )  # fmt: skip
        return record_reader(projection, self._messages(copies, wanted, reading))

    def explain(self, position: str, *, show_values: bool = False) -> ExplainModel:
        """One stored entry, taken apart field by field.

        Args:
            position: `LEDGER:ENTRY`.
            show_values: whether payload, keys and property values are in it.

        Raises:
            UsageError: no such ledger or entry is stored.
            SourceError: it cannot be read.
        """
        from pulsar_backlog.explain import explain_entry  # noqa: PLC0415 - for this alone

        options = self._options
        return explain_entry(options.source or "", options.endpoint, position, show_values, live_of(options))

    def copies_for(self, wanted: Wanted, *, whole: bool = False) -> list[LedgerCopy]:
        """Ledgers that may hold what is wanted, by topic and id; unless `whole` without blocks of other times.

        Raises:
            UsageError: no topic matches.
        """
        listing = self._listings.of(wanted.topics)
        wanted = listing.with_migrated(wanted)
        if wanted.topics and not any(wanted.scope.names(copy.topic) for copy in listing.copies):
            raise UsageError(f"no topic in {self._options.source} matches {' or '.join(wanted.topics)}")
        since, until = (None, None) if whole else (wanted.stored_since, wanted.stored_until)
        chosen = (copy for copy in listing.copies if wanted.holds(copy))
        return [trimmed(self._source, copy, since, until, wanted.lateness) for copy in chosen]

    def schemas_of(self, copies: Sequence[LedgerCopy], decode: bool | str) -> TopicSchemas | None:
        """The schemas by which messages of ledgers are decoded; None where they are not to be.

        Raises:
            UsageError: there is no such way, or no schema is known.
        """
        if not decode:
            return None
        from pulsar_backlog.steps.stored_schemas import planned_copies, stored_versions  # noqa: PLC0415 - for these
        from pulsar_backlog.steps.topic_schemas import schemas_for  # noqa: PLC0415 - alone

        internal = planned_copies(self._listings.internal)
        stored = partial(stored_versions, self._source, internal, self._options.admin)
        return schemas_for(decode, {copy.topic for copy in copies}, self._options, stored)

    def entries_in(self, copy: LedgerCopy) -> int:
        """One more than the last entry id of a ledger, by walking it."""
        batches = (batch for unit in units_of(copy) for batch in walk_unit(self._source, unit))
        return 1 + max((int(batch.entry_id.max()) for batch in batches if len(batch.entry_id)), default=-1)

    def unit_entries(self, unit: ScanUnit, wanted: Wanted, mode: Mode) -> Iterator[pa.RecordBatch]:
        """Rows of `entries` of one scan unit."""
        return self._read(unit_entries(self._source, unit, self._cluster, wanted, failfast=mode == "failfast"))

    def unit_messages(self, unit: ScanUnit, wanted: Wanted, reading: Reading) -> Iterator[pa.RecordBatch]:
        """Rows of `messages` of one scan unit that are not chunked."""
        reader = replace(self._reader(reading, wanted, {unit.ledger_id: unit.topic}), chunked=False)
        return self._read(by_mode(reader.of_topic(unit.topic, (unit,), lambda: self._log(unit.topic)), reading))

    def topic_messages(
        self, topic: str | None, copies: Sequence[LedgerCopy], wanted: Wanted, reading: Reading, *, plain: bool = True,
        log: Sequence[LedgerCopy] | None = None, refuse_open: bool = False, first_bytes: int | None = None,
    ) -> Iterator[pa.RecordBatch]:  # fmt: skip
        """Rows of `messages` of one topic's ledgers; `log` has those that a chunked message may have begun in."""
        reader = self._reader(reading, wanted, {copy.ledger_id: copy.topic for copy in copies})
        horizon = self._horizon(topic) if reading.visible == "compacted" else None
        reader = replace(reader, plain=plain, horizon=horizon, refuse_open=refuse_open, first_bytes=first_bytes)
        units = (unit for copy in copies for unit in wanted.units(copy))
        return self._read(by_mode(reader.of_topic(topic, units, lambda: self._log(topic), log), reading))

    def _read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        finally:
            self._source.rest()

    def _messages(self, copies: list[LedgerCopy], wanted: Wanted, reading: Reading) -> Iterator[pa.RecordBatch]:
        first_bytes: int | None = FIRST_BYTES
        for topic, own in groupby(copies, key=lambda copy: copy.topic):
            yield from self.topic_messages(topic, list(own), wanted, reading, first_bytes=first_bytes)
            first_bytes = None

    def _log(self, topic: str | None) -> list[LedgerCopy]:
        return [copy for copy in self._listings.of_topic(topic).copies if copy.topic == topic]

    def _horizon(self, topic: str | None) -> Position | None:
        listing = self._listings.of_topic(topic)
        return saved_horizon(listing.admin, listing.inventory.copies, topic)

    def _reader(self, reading: Reading, wanted: Wanted, topics: dict[int, str | None]) -> MessageReader:
        hashed = reading.made is None or "payload_sha256" in reading.made
        store = PayloadStore("", reading.max_message_bytes, reading.max_message_bytes, hashed=hashed)
        return MessageReader(
            ExportContext(self._cluster, topics, self._source, self._keys, store), wanted, reading.visible,
            chunked=reading.chunked, schema=columns_for(reading.made, wanted), decode=row_decoder(reading.schemas),
            threads=reading.threads, gives_payload=reading.gives_payload,
        )  # fmt: skip

    @property
    def _cluster(self) -> str:
        return self._options.cluster or "default"
