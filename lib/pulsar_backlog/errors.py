"""What can go wrong, in the three severities that decide what happens next.

* `UsageError`: the caller asked for something impossible; exit code 2, no traceback.
* `DecodeError`: one entry or one structure is broken; becomes one reject row or one finding.
* `SourceError`: an object could not be read; becomes a finding, exit code 4, the rest goes on.

Odd but readable input is not an error: decoders return it with flags.
"""

from __future__ import annotations

from typing import NoReturn

from pulsar_backlog.foreign_text import MAX_SENTENCE, visible

CONTEXT_BYTES = 32
"""How many of the offending bytes an error carries at most."""


class BacklogError(Exception):
    """What any of our errors is; the Python API raises no other of its own."""


class UsageError(BacklogError):
    """A mistake in options, configuration or environment that the user can mend."""


class SourceError(BacklogError):
    """An object of the source could not be listed or read.

    Its words may quote a server's: they are on one line, and without secrets.

    Attributes:
        uri: the object or folder that was asked for.
        reason: a short word for tables: `not_found`, `trimmed`, `permission_denied`, `unreachable`, `failed`.
        detail: the rest, in words.
    """

    def __init__(self, uri: str, reason: str, detail: str) -> None:
        super().__init__(visible(f"{uri}: {reason}: {detail}", MAX_SENTENCE))
        self.uri = uri
        self.reason = reason
        self.detail = detail

    def __reduce__(self) -> tuple[type[SourceError], tuple[str, str, str]]:
        return SourceError, (self.uri, self.reason, self.detail)


class DecodeError(BacklogError):
    """Bytes that are not what their place says they are.

    Attributes:
        code: stable reject code, one of `pulsar_backlog.wire.rejects.REJECT_CODES`.
        offset: where it went wrong, in bytes from the start of the structure that was being decoded.
        field: path of the field, such as `metadata.chunk_id`.
        expected: what the format asks for.
        found: what was there.
        context: up to 32 bytes from `offset` on.
    """

    def __init__(
        self,
        code: str,
        *,
        offset: int,
        field: str,
        expected: str,
        found: str,
        context: bytes = b"",
    ) -> None:
        super().__init__(f"{code} at byte {offset} ({field}): expected {expected}, found {found}")
        self.code = code
        self.offset = offset
        self.field = field
        self.expected = expected
        self.found = found
        self.context = bytes(context[:CONTEXT_BYTES])


class CommitConflictError(BacklogError):
    """Another writer changed a table since its log was read."""


class RunError(BacklogError):
    """A run of the program ended without a result.

    Attributes:
        exit_code: of its process.
    """

    def __init__(self, exit_code: int, words: str) -> None:
        super().__init__(words)
        self.exit_code = exit_code


def raise_error(error: SourceError) -> NoReturn:
    """Raise what a listing could not read, where nothing goes on without it."""
    raise error
