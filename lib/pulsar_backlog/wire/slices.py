"""A payload that comes in slices, decompressed piece by piece or only verified, in memory that does not grow with it.

codec       decompressed                               held besides the slice at hand
NONE        not at all                                 nothing
ZLIB, ZSTD  as streams                                 a megabyte or two; ZSTD a window of at most 128 MiB
LZ4, SNAPPY whole, up to `WHOLE_BYTES`                 all slices, and output up to the limit
            else as `raw_blocks` do, piece by piece    64 KiB of history, a megabyte of output
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.codecs import CODE_UNDECODABLE, BytesLike, decompressed_pieces, stated_bytes

WHOLE_BYTES = 8 * 1024 * 1024
"""Raw blocks up to this size, stored and opened, are decompressed whole: several times as fast as piece by piece."""

DecodeState: TypeAlias = Literal["ok", "fault", "wrong_size", "not_checked"]


@dataclass(frozen=True, slots=True)
class DecodeCheck:
    """What decompressing a payload showed.

    Attributes:
        state: `ok`; `fault` (it does not decompress); `wrong_size` (it does, but not to the size claimed);
            `not_checked` (more than may be decompressed here, or a codec of a newer version).
        actual_bytes: bytes it decompresses to, or None where that was not found out.
        detail: the reason in words, empty when `ok`.
    """

    state: DecodeState
    actual_bytes: int | None
    detail: str


def opened_slices(
    codec: str, slices: Iterable[BytesLike], uncompressed_size: int, stored_bytes: int, limit_bytes: int
) -> Iterator[BytesLike]:
    """The payload piece by piece; each is good until the next is asked for.

    Args:
        codec: `NONE`, `LZ4`, `ZLIB`, `ZSTD` or `SNAPPY`.
        slices: the stored payload in order, decrypted if it was encrypted.
        uncompressed_size: the metadata's claim, bytes; 0 where it makes none.
        stored_bytes: bytes of all slices.
        limit_bytes: the largest output of a block that is decompressed whole.

    Raises:
        DecodeError: as `decompress`; `payload_too_large` also for a Snappy block that needs to be held whole.
    """
    large = max(uncompressed_size, stored_bytes) > WHOLE_BYTES
    if large and codec == "LZ4":
        from pulsar_backlog.wire.raw_blocks import lz4_pieces  # noqa: PLC0415 - loads numba

        yield from lz4_pieces(slices)
    elif large and codec == "SNAPPY":
        from pulsar_backlog.wire.raw_blocks import snappy_pieces  # noqa: PLC0415 - loads numba

        yield from snappy_pieces(slices)
    else:
        yield from decompressed_pieces(codec, slices, uncompressed_size, limit_bytes)


def decoded_size_check(
    codec: str, slices: Iterable[BytesLike], uncompressed_size: int, stored_bytes: int, limit_bytes: int
) -> DecodeCheck:
    """Verify a payload from its slices in order, keeping no output.

    It is followed up to `limit_bytes` or the claimed size, whichever is more. A payload of claimed size 0 is `ok`
    only if it does decompress to nothing, and for NONE a claim other than 0 is compared, though clients look in
    neither case.
    """
    if codec == "NONE":
        actual = sum(map(len, slices))
        return _compared(actual, stated_bytes(codec, uncompressed_size, actual))
    bound = max(limit_bytes, uncompressed_size)
    actual = 0
    try:
        for piece in opened_slices(codec, slices, uncompressed_size, stored_bytes, limit_bytes):
            actual += len(piece)
            if actual > bound:
                detail = f"decompresses to more than {bound} bytes, not {uncompressed_size}"
                return DecodeCheck("wrong_size", None, detail)
    except DecodeError as error:
        state: DecodeState = "fault" if error.code == CODE_UNDECODABLE else "not_checked"
        return DecodeCheck(state, None, error.found)
    return _compared(actual, uncompressed_size)


def _compared(actual: int, claimed: int) -> DecodeCheck:
    if actual == claimed:
        return DecodeCheck("ok", actual, "")
    return DecodeCheck("wrong_size", actual, f"decompresses to {actual} bytes, not {claimed}")
