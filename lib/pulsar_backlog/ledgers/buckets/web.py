"""HTTP to a store, through the proxy that the environment names: one answer at a time, and no redirect is followed.

A redirect is what its server wants it to be: who follows it takes the request's headers along, session tokens included,
and the address, which may hold a signature, as `Referer`.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.exceptions import HTTPError, NewConnectionError, ProxyError, SSLError, TimeoutError

from pulsar_backlog.cluster.timed_http import HEAD_POOLS
from pulsar_backlog.ledgers.buckets.access import CONNECT_SECONDS, CRAWL_BYTES, SILENCE_SECONDS
from pulsar_backlog.ledgers.buckets.patience import StoreError, kind_of_status

MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""Far more than a page of the longest keys."""
GOOD = frozenset((200, 201, 202, 204, 206))
_PIECE_BYTES = 8 * 1024 * 1024
_HOST = re.compile(r"[A-Za-z0-9.:\[\]-]{1,200}")


@dataclass(frozen=True)
class Request:
    """What is asked of a store: method, address, headers that say who asks, a body, and which statuses are no fault."""

    method: str
    address: str
    headers: Mapping[str, str]
    body: bytes = b""
    good: frozenset[int] = GOOD


@dataclass(frozen=True)
class Answer:
    """A good answer; names of headers in any letter case.

    Attributes:
        content: the body where it was received.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes | memoryview

    @property
    def body(self) -> bytes:
        """The body; a copy of what is not in bytes."""
        return bytes(self.content)


def web_pool(address: str, ca_file: str | None, connections: int) -> urllib3.PoolManager:
    """Connections to the host of an address."""
    parts = urlsplit(address)
    proxy = None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)
    pool = (
        urllib3.ProxyManager(proxy, maxsize=connections, retries=False, ca_certs=ca_file)
        if proxy
        else urllib3.PoolManager(maxsize=connections, retries=False, ca_certs=ca_file)
    )
    pool.pool_classes_by_scheme = HEAD_POOLS
    return pool


def ask(pool: urllib3.PoolManager, request: Request, seconds: float, max_bytes: int = MAX_ANSWER_BYTES) -> Answer:
    """The answer to a request, if it is a good one, in so many seconds.

    Raises:
        StoreError: there was none.
    """
    ends = time.monotonic() + seconds
    wait = urllib3.Timeout(connect=min(CONNECT_SECONDS, seconds), read=min(SILENCE_SECONDS, seconds))
    try:
        answer = pool.request(
            request.method, request.address, headers=request.headers, body=request.body or None,
            redirect=False, preload_content=False, decode_content=False, timeout=wait,
        )  # fmt: skip
        with answer:  # what was not read to its end is not used again
            content = _content(answer, ends, max_bytes)
    except (NewConnectionError, ProxyError, SSLError) as error:
        raise StoreError("unconnected", _first_line(error)) from error
    except TimeoutError as error:
        kind = "unconnected" if isinstance(error, urllib3.exceptions.ConnectTimeoutError) else "slow"
        raise StoreError(kind, _first_line(error)) from error
    except (HTTPError, OSError) as error:
        raise StoreError("cut", _first_line(error)) from error
    if answer.status not in request.good:
        raise _fault(answer, bytes(content))
    return Answer(answer.status, answer.headers, content)


def _content(answer: urllib3.BaseHTTPResponse, ends: float, max_bytes: int) -> bytes | memoryview:
    if (answer.length_remaining or 0) > max_bytes:  # before there is memory for it
        raise StoreError("failed", f"an answer of more than {max_bytes} bytes")
    pieces: list[bytes | memoryview] = []
    size = checked_size = 0
    checked = time.monotonic()
    while piece := answer.read1(_PIECE_BYTES):
        pieces.append(piece)
        size += len(piece)
        now = time.monotonic()
        if size > max_bytes:
            raise StoreError("failed", f"an answer of more than {max_bytes} bytes")
        if now > ends:
            raise StoreError("slow", f"{size} bytes when its time was over")
        if now - checked > SILENCE_SECONDS:
            if size - checked_size < CRAWL_BYTES:
                raise StoreError("slow", f"{size - checked_size} bytes in {now - checked:.0f} seconds")
            checked, checked_size = now, size
    if pieces and isinstance(pieces[0], memoryview):
        return memoryview(pieces[0].obj)[:size]  # views of one memory: see `timed_http`
    return b"".join(pieces)


def _fault(answer: urllib3.BaseHTTPResponse, body: bytes) -> StoreError:
    status = answer.status
    if 300 <= status < 400 and (location := answer.headers.get("Location")):
        host = _HOST.fullmatch(urlsplit(location).netloc.rpartition("@")[2])
        return StoreError("redirected", f"HTTP {status} to {host[0] if host else 'an address without a host'}")
    return StoreError(kind_of_status(status) or "failed", f"HTTP {status}{_code_in(body)}")


def _code_in(body: bytes) -> str:
    """What a store says of a refusal, where it is a word."""
    text = body[:4096].decode(errors="replace")
    match = re.search(r"<Code>([A-Za-z0-9]{1,64})</Code>", text)
    if match is None and text.startswith("{"):
        try:
            match = re.fullmatch(r"([A-Za-z0-9 ,.'-]{1,200})", str(json.loads(text)["error"]["message"]))
        except (ValueError, KeyError, TypeError, RecursionError):
            match = None
    return f" {match[1]}" if match else ""


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
