"""HTTP to a store where obstore cannot do it: through the proxy that the environment names, one answer at a time."""

from __future__ import annotations

import json
import re
import time
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.exceptions import HTTPError, NewConnectionError, ProxyError, SSLError, TimeoutError

from pulsar_backlog.ledgers.buckets.access import CONNECT_SECONDS, SILENCE_SECONDS
from pulsar_backlog.ledgers.buckets.patience import StoreError, kind_of_status

MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""Far more than a page of the longest keys."""
_PIECE_BYTES = 64 * 1024


def web_pool(address: str, ca_file: str | None, connections: int) -> urllib3.PoolManager:
    """Connections to the host of an address."""
    parts = urlsplit(address)
    proxy = None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)
    if proxy:
        return urllib3.ProxyManager(proxy, maxsize=connections, retries=False, ca_certs=ca_file)
    return urllib3.PoolManager(maxsize=connections, retries=False, ca_certs=ca_file)


def get(pool: urllib3.PoolManager, address: str, headers: dict[str, str], timeout_seconds: float) -> bytes:
    """The body of a good answer.

    Raises:
        StoreError: there was none.
    """
    ends = time.monotonic() + timeout_seconds
    wait = urllib3.Timeout(connect=CONNECT_SECONDS, read=min(SILENCE_SECONDS, timeout_seconds))
    try:
        answer = pool.request("GET", address, headers=headers, redirect=False, preload_content=False, timeout=wait)
        with answer:  # what was not read to its end is not used again
            body = _body(answer, ends)
    except (NewConnectionError, ProxyError, SSLError) as error:
        raise StoreError("unconnected", _first_line(error)) from error
    except TimeoutError as error:
        kind = "unconnected" if isinstance(error, urllib3.exceptions.ConnectTimeoutError) else "slow"
        raise StoreError(kind, _first_line(error)) from error
    except (HTTPError, OSError) as error:
        raise StoreError("cut", _first_line(error)) from error
    if answer.status != 200:
        raise StoreError(kind_of_status(answer.status) or "failed", f"HTTP {answer.status}{_code_in(body)}")
    return body


def _body(answer: urllib3.BaseHTTPResponse, ends: float) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while piece := answer.read1(_PIECE_BYTES):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_ANSWER_BYTES:
            raise StoreError("failed", f"an answer of more than {MAX_ANSWER_BYTES} bytes")
        if time.monotonic() > ends:
            raise StoreError("slow", f"{size} bytes when its time was over")
    return b"".join(pieces)


def _code_in(body: bytes) -> str:
    """What a store says of a refusal, where it is a word."""
    text = body[:4096].decode(errors="replace")
    found = re.search(r"<Code>([A-Za-z0-9]{1,64})</Code>", text)
    if found is None and text.startswith("{"):
        try:
            found = re.fullmatch(r"([A-Za-z0-9 ,.'-]{1,200})", str(json.loads(text)["error"]["message"]))
        except (ValueError, KeyError, TypeError):
            found = None
    return f" {found[1]}" if found else ""


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
