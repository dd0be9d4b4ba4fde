"""A chunked message put together from stored copies of its chunks, one slice in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from pulsar_backlog.errors import DecodeError, SourceError
from pulsar_backlog.ledgers.entry_batch import Place
from pulsar_backlog.messages.opening import SURPLUS_BYTES, BytesLike, opened_pieces, size_doubt
from pulsar_backlog.messages.outcomes import NO_CHECKSUM, Outcome, Unexportable, too_large, unexportable
from pulsar_backlog.messages.payloads import PayloadStore, StoredPayload
from pulsar_backlog.messages.ranges import RangeReader
from pulsar_backlog.wire.encryption import KeyRing
from pulsar_backlog.wire.entry import Entry, decode_entry, read_layout
from pulsar_backlog.wire.jit import crc32c
from pulsar_backlog.wire.metadata import decode_message_metadata

MAX_CHOICES = 32
"""Ways of choosing among copies that are tried at most where the joined payload does not decompress."""


@dataclass(frozen=True, slots=True)
class Copy:
    """One stored copy of a chunk.

    Attributes:
        ledger_id: ledger.
        entry_id: entry within it.
        path: object, relative to the source.
        offset: first byte of the entry in the object, as `ledgers.entry_batch.Place` says.
        length: bytes of the entry.
        payload_offset: first byte of the payload within the entry.
        inner_offset: first byte of the entry in the block or record at `offset`, decompressed; None where it is not
            compressed.
        block_length: stored bytes of that block or record; None likewise.
    """

    ledger_id: int
    entry_id: int
    path: str
    offset: int
    length: int
    payload_offset: int
    inner_offset: int | None = None
    block_length: int | None = None

    @property
    def place(self) -> Place:
        """Where the entry lies."""
        return Place(self.path, self.offset, self.length, self.inner_offset, self.block_length)

    @property
    def payload_place(self) -> Place:
        """Where its payload lies."""
        return self.place.after(self.payload_offset)


@dataclass(frozen=True, slots=True)
class ChunkedMessage:
    """What is planned for one publication.

    Attributes:
        uuid: `uuid` of its chunks.
        publish_time_ms: their publish time.
        total_bytes: what its metadata says it is long, compressed and not encrypted.
        uncompressed_size: what its metadata says it is long before compression, or None.
        compression: codec, or None.
        encrypted: whether its chunks are encrypted.
        copies: stored copies by chunk id, the best first.
    """

    uuid: str
    publish_time_ms: int
    total_bytes: int
    uncompressed_size: int | None
    compression: str | None
    encrypted: bool
    copies: tuple[tuple[Copy, ...], ...]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What came of it.

    Attributes:
        outcome: `exported`, or why not.
        reason: what speaks against it being verified; empty when nothing does.
        payload: None unless it is here.
        used: the copies it is made of, in chunk order; what is known of them where it could not be made.
        last: the last chunk's entry, whose metadata is the message's; None where it cannot be read.
    """

    outcome: Outcome
    reason: str
    payload: StoredPayload | None
    used: tuple[Copy, ...]
    last: Entry | None

    @property
    def verified(self) -> bool:
        """Whether checksums, sizes and decompression all agree."""
        return self.outcome == "exported" and not self.reason


def rebuild_message(message: ChunkedMessage, reader: RangeReader, ring: KeyRing, store: PayloadStore) -> Rebuilt:
    """Join, open, verify and store a message. A copy that fails gives way to the next one of its chunk.

    Where the joined payload does not decompress though every slice was sound, other choices of copies are tried.
    """
    stated = max(message.uncompressed_size or 0, message.total_bytes)
    if stated > store.max_message_bytes:
        fault = too_large(f"its metadata says that it holds {stated} bytes", store.max_message_bytes)
        places = tuple(copies[0] for copies in message.copies if copies)
        return Rebuilt(fault.outcome, fault.reason, None, places, None)
    attempt = _Attempt(message, reader, ring)
    best: Rebuilt | None = None
    for choice in islice(product(*message.copies), MAX_CHOICES):
        rebuilt = attempt.make(choice, store)
        if rebuilt.verified:
            return rebuilt
        if best is None or (best.payload is None and rebuilt.payload is not None):
            best = rebuilt
        if rebuilt.outcome not in ("undecodable", "wrong_size") or attempt.without_choice:
            break
    return best or Rebuilt("corrupt", "no copy of it is stored", None, (), None)


class _Attempt:
    """One message's slices under a choice of copies."""

    def __init__(self, message: ChunkedMessage, reader: RangeReader, ring: KeyRing) -> None:
        self._message = message
        self._reader = reader
        self._ring = ring
        self._used: list[Copy] = []
        self._joined = 0
        self._doubts: set[str] = set()
        self._last: Entry | None = None

    @property
    def without_choice(self) -> bool:
        """Whether there is but one copy of each chunk."""
        return all(len(copies) == 1 for copies in self._message.copies)

    def make(self, choice: Sequence[Copy], store: PayloadStore) -> Rebuilt:
        """Join the slices, preferring the chosen copies."""
        message = self._message
        self._used, self._joined, self._doubts, self._last = [], 0, set(), None
        stated = max(message.uncompressed_size or 0, message.total_bytes)
        try:
            return self._judged(store.keep_pieces(self._pieces(choice), stated, max(stated, SURPLUS_BYTES)))
        except (Unexportable, DecodeError) as error:
            fault = error if isinstance(error, Unexportable) else unexportable(error)
            return Rebuilt(fault.outcome, fault.reason, None, self._places(choice), self._last)

    def _pieces(self, choice: Sequence[Copy]) -> Iterator[BytesLike]:
        message = self._message
        yield from opened_pieces(
            message.compression, self._slices(choice), message.uncompressed_size, message.total_bytes
        )
        for _ in self._slices(choice, first=len(self._used)):  # a stream may end before its last slice
            pass

    def _judged(self, payload: StoredPayload) -> Rebuilt:
        message = self._message
        wrong = size_doubt(payload.size_bytes, message.uncompressed_size, message.compression)
        if wrong:
            self._doubts.add(wrong)
        if self._joined != message.total_bytes:
            self._doubts.add(f"its chunks hold {self._joined} bytes, its metadata says {message.total_bytes}")
        reason = "; ".join(sorted(self._doubts))
        outcome: Outcome = "wrong_size" if wrong else "exported"
        return Rebuilt(outcome, reason, payload, tuple(self._used), self._last)

    def _places(self, choice: Sequence[Copy]) -> tuple[Copy, ...]:
        """Where the message lies though it could not be made."""
        return (*self._used, *choice[len(self._used) :])

    def _slices(self, choice: Sequence[Copy], first: int = 0) -> Iterator[BytesLike]:
        for chunk_id in range(first, len(choice)):
            chosen = choice[chunk_id]
            others = (copy for copy in self._message.copies[chunk_id] if copy is not chosen)
            data, copy = self._first_sound(chunk_id, (chosen, *others))
            self._used.append(copy)
            self._joined += len(data)
            yield data

    def _first_sound(self, chunk_id: int, copies: Sequence[Copy]) -> tuple[BytesLike, Copy]:
        fault: Unexportable | None = None
        for copy in copies:
            try:
                return self._open(chunk_id, copy), copy
            except Unexportable as error:
                fault = fault or error
            except (DecodeError, SourceError) as error:
                fault = fault or unexportable(error)
        raise fault or Unexportable("corrupt", f"no copy of chunk {chunk_id} is stored")

    def _open(self, chunk_id: int, copy: Copy) -> BytesLike:
        """One slice, verified and decrypted."""
        stored = self._reader.part(copy.place)
        data = stored.data.toreadonly()
        if len(data) < copy.length:
            raise Unexportable("unreadable", f"chunk {chunk_id} is cut off: its object ends before it")
        layout = read_layout(data)
        # The compiled checksum takes the bytes where they lie; others want a copy.
        wrong = (
            layout.checksum is not None and crc32c(stored, layout.metadata_offset - 4, len(stored)) != layout.checksum
        )
        if wrong or layout.payload_offset != copy.payload_offset:
            raise Unexportable("corrupt", f"the checksum of chunk {chunk_id} does not match")
        last = chunk_id == len(self._message.copies) - 1
        payload: BytesLike = data[layout.payload_offset :]
        if self._message.encrypted or last or chunk_id == 0 or len(self._message.copies[chunk_id]) > 1:
            payload = self._with_metadata(data, payload, chunk_id, last)
        if layout.checksum is None and not self._message.encrypted:
            self._doubts.add(NO_CHECKSUM)
        return payload

    def _with_metadata(self, data: memoryview, payload: BytesLike, chunk_id: int, last: bool) -> BytesLike:
        layout = read_layout(data)
        part = bytes(data[layout.metadata_offset : layout.payload_offset])
        metadata = decode_message_metadata(part, layout.metadata_offset, set())
        named = (metadata.uuid or "", metadata.publish_time, metadata.chunk_id)
        if named != (self._message.uuid, self._message.publish_time_ms, chunk_id):
            raise Unexportable("corrupt", f"another entry is stored at the place of chunk {chunk_id}")
        if last:
            self._last = decode_entry(bytes(data))
        if metadata.encryption_keys:
            return self._ring.decrypt(payload, metadata.encryption_keys, metadata.encryption_param)
        return payload
