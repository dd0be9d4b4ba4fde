"""Files of saved admin JSON that an earlier audit parsed: what a file says is taken over where it has the same bytes.

What a document says depends on its bytes and on the path of its file, which it names. Only files are kept that hold
documents of topics without any fault; all else is parsed each time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from pydantic import TypeAdapter

from pulsar_backlog import __version__
from pulsar_backlog.cluster.documents import Document

READING = 1
"""Grows with every change of what is read of a document, so that what was read before is not taken over."""
READER = f"{__version__}/{READING}"


@dataclass(frozen=True)
class KnownFile:
    """What a file said: digest of its bytes, and its documents as text."""

    digest: str
    documents: str


@dataclass
class KnownDocuments:
    """What is known of files by earlier audits, and what this one leaves to the next.

    Attributes:
        before: what files said, by path.
        after: the same of files that are there now.
    """

    before: Mapping[str, KnownFile] = field(default_factory=dict)
    after: dict[str, KnownFile] = field(default_factory=dict)

    def documents(self, path: str, content: bytes) -> list[Document] | None:
        """The documents of a file that has the bytes it had; None where it must be parsed."""
        file = self.before.get(path)
        if file is None or file.digest != _digest(content):
            return None
        try:
            documents = _adapter().validate_json(file.documents)
        except ValueError:
            return None  # nobody of ours wrote it
        self.after[path] = file
        return list(documents)

    def add(self, path: str, content: bytes, documents: Sequence[Document]) -> None:
        """Keep what a file says, in which nothing is wrong, for the next audit."""
        try:
            text = _adapter().dump_json(tuple(documents), exclude_defaults=True).decode()
        except ValueError:
            return  # names in it that are not Unicode
        self.after[path] = KnownFile(_digest(content), text)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


@cache
def _adapter() -> TypeAdapter[tuple[Document, ...]]:
    return TypeAdapter(tuple[Document, ...])
