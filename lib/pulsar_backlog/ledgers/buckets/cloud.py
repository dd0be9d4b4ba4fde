"""What differs between object stores: addresses, credentials, and how a listing is asked for and answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol, TypeAlias
from urllib.parse import quote, urlencode
from xml.etree import ElementTree as Xml

from pulsar_backlog.ledgers.buckets.patience import StoreError
from pulsar_backlog.ledgers.buckets.web import GOOD, Answer, Request


@dataclass(frozen=True)
class Listed:
    """An object as a store lists it.

    Attributes:
        key: whole name in the bucket.
        size: bytes.
        etag: what changes with its bytes, or None.
        modified_ms: when it was written, milliseconds, or None where the store does not say.
    """

    key: str
    size: int
    etag: str | None
    modified_ms: int | None = None


@dataclass(frozen=True)
class Question:
    """Which page of a listing is asked for.

    Attributes:
        prefix: what all keys begin with.
        after: the key behind which it begins, in the order of UTF-8; empty begins at the first. Only where `skips`.
        token: of the page before, or None.
        by_folder: only what lies directly under the prefix, and the names of the folders there.
    """

    prefix: str
    after: str = ""
    token: str | None = None
    by_folder: bool = False


@dataclass(frozen=True)
class Page:
    """One page of a listing; without a token it is the last."""

    objects: list[Listed]
    token: str | None
    folders: list[str]


Send: TypeAlias = Callable[[Callable[[], Request]], Answer]
"""Asks a store what a function says, which is called for each try: signatures hold the time."""
Marker = tuple[str, str]
"""Key and upload behind which a page of unfinished uploads begins."""


class Uploads(Protocol):
    """How a store tells of multipart uploads that were never finished."""

    def request(self, prefix: str, after: Marker | None) -> tuple[str, dict[str, str]]:
        """Address and headers that ask for a page of them."""

    def page(self, body: bytes) -> tuple[list[tuple[str, str, int | None]], Marker | None]:
        """Key, upload and start of each, and where the next page begins."""

    def parts_request(self, key: str, upload_id: str, after: int | None) -> tuple[str, dict[str, str]]:
        """Address and headers that ask for a page of an upload's parts."""

    def parts_page(self, body: bytes) -> tuple[int, int | None]:
        """Bytes of the parts in a page, and behind which part the next one begins."""


class Cloud(Protocol):
    """A bucket of one kind of object store."""

    @property
    def root(self) -> str:
        """What stands before a key in a URI."""

    @property
    def name(self) -> str:
        """For people: which bucket it is, and where."""

    @property
    def service(self) -> str:
        """Address of the service, without the bucket."""

    @property
    def ca_file(self) -> str | None:
        """File of certificates to trust instead of the system's, or None."""

    @property
    def skips(self) -> bool:
        """Whether a listing can begin behind any key."""

    @property
    def uploads(self) -> Uploads | None:
        """Its unfinished uploads; None where no way to list them is known."""

    @property
    def metadata_prefix(self) -> str:
        """What names of headers begin with that are an object's user metadata, in small letters."""

    def object_request(
        self,
        method: str,
        key: str,
        headers: Mapping[str, str] = {},
        query: Mapping[str, str] = {},
        body: bytes = b"",
        good: frozenset[int] = GOOD,
    ) -> Request:
        """A request about one object.

        Raises:
            StoreError: there are no credentials, or no address can spell the key.
            UsageError: what the environment says cannot be used.
        """  # fmt: skip

    def put_request(self, key: str, body: bytes, content_type: str, is_new: bool) -> Request:
        """The request that writes an object whole; `is_new` has it refused where the name is taken.

        Raises:
            StoreError: as `object_request`.
        """

    def put_parts(self, send: Send, key: str, pieces: Iterator[bytes], size: int, content_type: str) -> None:
        """Write a large object by its pieces; it is there when this returns, and not before.

        Raises:
            StoreError: it cannot be written; what was is given up.
        """

    def request(self, question: Question) -> tuple[str, dict[str, str]]:
        """Address and headers that ask for a page of the listing.

        Raises:
            StoreError: there are no credentials.
            UsageError: what the environment says cannot be used.
        """

    def page(self, body: bytes) -> Page:
        """What an answer to such a request lists.

        Raises:
            StoreError: it is no listing.
        """


def address(base: str, query: Mapping[str, str | None]) -> str:
    """An address with those parts of a query that have a value, in the order of their names, which signatures want."""
    given = sorted((name, value) for name, value in query.items() if value)
    return f"{base}?{urlencode(given, quote_via=quote, safe='-_.~')}"


def key_path(key: str) -> str:
    """A key as the end of an address.

    Raises:
        StoreError: no address can spell it: HTTP knows `.` and `..` as ways to other objects.
    """
    if not {".", ".."}.isdisjoint(key.split("/")):
        raise StoreError("failed", "its key has a part '.' or '..', which no address can spell")
    try:
        return quote(key, safe="/-_.~")
    except UnicodeEncodeError as error:
        raise StoreError("failed", "its key is not Unicode") from error


def xml_of(body: bytes, *roots: str) -> Xml.Element:
    """An XML answer with one of these elements outside.

    Raises:
        StoreError: it is none, or another one.
    """
    try:
        parsed = Xml.fromstring(body)  # noqa: S314 - expat bounds what entities may grow to
    except Xml.ParseError as error:
        raise StoreError("cut", f"the listing is not XML: {error}") from error
    except (ValueError, LookupError) as error:
        raise StoreError("failed", f"the listing is in an encoding that XML does not know: {error}") from error
    if parsed.tag.rpartition("}")[2] not in roots:
        raise StoreError("failed", f"the answer is no {roots[0]}")
    return parsed


def text_of(item: Xml.Element, path: str) -> str:
    """The text of an element that must be there.

    Raises:
        ValueError: it is not.
    """
    text = item.findtext(path)
    if not text:
        raise ValueError(f"no {path.rpartition('}')[2]}")
    return text


def key_of(value: object) -> str:
    """A name as JSON gives it.

    Raises:
        ValueError: it is none, or not Unicode.
    """
    if not isinstance(value, str) or not value:
        raise ValueError(f"a name that is no text: {repr(value)[:60]}")
    value.encode()  # JSON can spell half a character
    return value


def listed_of(items: Iterable[Any], read: Callable[[Any], Listed | None]) -> list[Listed]:
    """The objects in the items of an answer; None leaves one out.

    Raises:
        StoreError: an item lacks what every object has.
    """
    try:
        return [one for item in items if (one := read(item)) is not None]
    except (KeyError, TypeError, ValueError) as error:
        detail = str(error) if isinstance(error, ValueError) and not isinstance(error, UnicodeError) else repr(error)
        raise StoreError("failed", f"the listing names an object without name or size: {detail}"[:200]) from error


def written_ms(text: str | None) -> int | None:
    """The time that a listing names, in ISO 8601 or as in HTTP's headers; None where it names none."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text) if text[0].isdigit() else parsedate_to_datetime(text)
        return round(moment.timestamp() * 1000) if moment.tzinfo else None
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
