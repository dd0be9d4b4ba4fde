"""The digest of a stored entry: which one its ledger has, and whether it agrees.

| digest | bytes | of the 32 bytes of metadata and the payload |
|---|---|---|
| CRC32C | 4 | CRC-32C |
| CRC32 | 8 | CRC-32, the upper half zero |
| HMAC | 20 | HMAC-SHA1, whose key is SHA1 of `mac` and the ledger's password |
| DUMMY | 0 | none |

Only the ledger's metadata names it; without them it is the one that agrees. The password is `managedLedgerPassword` of
the brokers, empty unless somebody set it; then the environment must have it, as it has the credentials of a store.

Source: https://github.com/apache/bookkeeper/tree/9590a97f/bookkeeper-server/src/main/java/org/apache/bookkeeper/proto/checksum
"""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pulsar_backlog.ledgers.bookies import kernel
from pulsar_backlog.ledgers.bookies.kernel import HEAD_BYTES, META_BYTES, SIZE_BYTES
from pulsar_backlog.wire.arrays import Bytes, Int64s

Digest = Literal["CRC32C", "CRC32", "HMAC", "DUMMY"]
DIGEST_BYTES: dict[Digest, int] = {"CRC32C": 4, "CRC32": 8, "HMAC": 20, "DUMMY": 0}

_CHECKSUMS: dict[Digest, int] = {"CRC32C": kernel.CRC32C, "CRC32": kernel.CRC32}

PASSWORD_VARIABLE = "PULSAR_BACKLOG_LEDGER_PASSWORD"  # noqa: S105 - the name of a variable
"""Where the environment has the ledgers' password."""

SAMPLES = 16
"""Entries that are looked at to know which digest a ledger has."""
_HMAC_END = META_BYTES + DIGEST_BYTES["HMAC"]
_FRAME_MAGICS = (b"\x0e\x01", b"\x0e\x02")

Mask = npt.NDArray[np.bool_]


def ledger_password() -> bytes:
    """The password of the ledgers; empty unless the environment has one."""
    return os.fsencode(os.environ.get(PASSWORD_VARIABLE, ""))


def verified(
    buffer: Bytes, places: Int64s, sizes: Int64s, proof: Int64s, digest: Digest, password: bytes | None = None
) -> Mask:
    """Which records of a buffer, from their size on, carry the digest that their bytes have.

    The walk over them has computed checksums: `proof`. The password is that of the environment unless one is given.
    """
    if digest == "DUMMY":
        return np.ones(len(places), dtype=np.bool_)
    if digest != "HMAC":
        mask: Mask = proof == _CHECKSUMS[digest]
        return mask
    secret = ledger_password() if password is None else password
    key = hashlib.sha1(b"mac" + secret).digest()  # noqa: S324 - the format's
    view = buffer.data
    checks = (
        _agrees(view[at + SIZE_BYTES : at + SIZE_BYTES + size], key)
        for at, size in zip(places.tolist(), sizes.tolist(), strict=True)
    )
    return np.fromiter(checks, dtype=np.bool_, count=len(places))


def _agrees(record: Any, key: bytes) -> bool:
    """Whether the HMAC of one record, from its ledger id on, agrees."""
    stored, payload = bytes(record[META_BYTES:_HMAC_END]), record[_HMAC_END:]
    mac = hmac.new(key, record[:META_BYTES], hashlib.sha1)
    mac.update(payload)
    return hmac.compare_digest(mac.digest(), stored)


def digest_of(
    buffer: Bytes, places: Int64s, sizes: Int64s, proof: Int64s, password: bytes | None = None
) -> tuple[Digest, bool] | None:
    """The digest that some of these records of one ledger have, and whether any was verified; None where none fits.

    Where nothing agrees, the place of what every message begins with tells how long the digest is.
    """
    chosen = np.unique(np.linspace(0, len(places) - 1, min(SAMPLES, len(places))).astype(np.int64))
    some, their_sizes = places[chosen], sizes[chosen]
    for checksum, number in _CHECKSUMS.items():
        if (proof == number).any():
            return checksum, True
    if verified(buffer, some, their_sizes, proof[chosen], "HMAC", password).any():
        return "HMAC", True
    for digest, width in DIGEST_BYTES.items():
        begins = (some + HEAD_BYTES + width).tolist()
        if any(buffer[at : at + 2].tobytes() in _FRAME_MAGICS for at in begins):
            return digest, digest == "DUMMY"
    return None
