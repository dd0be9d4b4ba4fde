"""What obstore's errors say: their first line names the HTTP status, a dump for developers behind it names the kind."""

from __future__ import annotations

import re

from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

from pulsar_backlog.ledgers.buckets.patience import StoreError, kind_of_status

_KINDS = {"Connect": "unconnected", "Timeout": "slow", "Interrupted": "cut", "Request": "cut"}
"""By the word of obstore's own classification of HTTP errors."""


def is_beyond_end(error: Exception) -> bool:
    """Whether a range may lie behind the object's end: refused, or (Azurite) answered with the object's size."""
    return any(sign in str(error).splitlines()[0] for sign in ("416 Range Not Satisfiable", "but object was only"))


def error_of(error: Exception) -> StoreError:
    """What an error of obstore says: its first line names the HTTP status, else the dump behind it names the kind."""
    text = str(error).strip() or type(error).__name__
    status = re.search(r"non-2xx status code: (\d{3})", text)
    if isinstance(error, FileNotFoundError):
        kind = "not_found"
    elif isinstance(error, (PermissionDeniedError, UnauthenticatedError)):
        kind = "denied"
    elif status:
        kind = kind_of_status(int(status[1])) or "failed"
    elif "Content-Length Header missing" in text or "non-partial response" in text:
        kind = "cut"  # a proxy's own page, or an answer that it changed
    else:
        words = re.findall(r"kind: (\w+)", text)
        kind = next((_KINDS[word] for word in words if word in _KINDS), "failed")
    return StoreError(kind, text)
