"""What the payload check adds to a publication after its chunks were read and joined."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from pulsar_backlog.chunks.rows import DecodeState, Flag, Publication

_FLAG_OF_FAILURE: dict[DecodeState, Flag] = {"fault": "decode_fault", "wrong_size": "sizes_lie"}


def with_decode_result(
    publication: Publication, decode_state: DecodeState, detail: str, decoded_bytes: int | None = None
) -> Publication:
    """The publication with what decompressing its joined payload showed.

    A failure takes `rebuildable` and the manifest away and sets a flag; state and sureness stay.

    Args:
        publication: as folded.
        decode_state: outcome of the check.
        detail: words for the reason; empty adds nothing.
        decoded_bytes: bytes it decompresses to; None where that was not found out.

    Raises:
        ValueError: if the outcome is not a known one.
    """
    if decode_state not in get_args(DecodeState):
        raise ValueError(f"decode state {decode_state!r} is not one of {get_args(DecodeState)}")
    flag = _FLAG_OF_FAILURE.get(decode_state)
    reasons = (detail, publication.reason) if flag else (publication.reason, detail)  # what is wrong comes first
    reason = "; ".join(filter(None, reasons))
    if flag is None:
        return replace(publication, decode_state=decode_state, decoded_bytes=decoded_bytes, reason=reason)
    return replace(
        publication,
        decode_state=decode_state,
        decoded_bytes=decoded_bytes,
        reason=reason,
        flags=tuple(sorted({*publication.flags, flag})),
        rebuildable=False,
        manifest=(),
    )
