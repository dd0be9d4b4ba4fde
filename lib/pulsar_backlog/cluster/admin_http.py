"""HTTP to a Pulsar admin service: every failure is one sentence with address, status and remedy."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urlencode, urljoin, urlsplit

import urllib3
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ReadTimeoutError, SSLError

from pulsar_backlog.cluster.access import TOKEN_VARIABLE, Access
from pulsar_backlog.cluster.patience import Patience
from pulsar_backlog.cluster.timed_http import POOLS
from pulsar_backlog.cluster.tls import broken, innermost_words, tls_context, tls_remedy
from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.known_secrets import content_without_secrets

MAX_ANSWER_BYTES = 256 * 1024 * 1024
"""As much as the reader of saved JSON takes for one file."""

_MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_PASSING = (429, 500, 502, 503, 504)
"""Answers that another attempt may mend: a topic that just moves to another broker answers 500 or 503."""
_TRUSTED_SCHEMES = ("http", "https")
_LEAST_SECONDS = 0.05
"""What is given to an exchange for which no time is left: the system takes 0 for no limit."""


class AdminError(SourceError):
    """The admin service did not give what it was asked for.

    Attributes:
        status: of the answer; None when there was none.
    """

    def __init__(self, uri: str, reason: str, detail: str, status: int | None = None) -> None:
        super().__init__(uri, reason, detail)
        self.status = status


@dataclass(frozen=True)
class _Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def is_html(self) -> bool:
        """Whether it looks like a page for people."""
        return "html" in self.headers.get("Content-Type", "").lower() or self.content.lstrip()[:1] == b"<"


class AdminHttp:
    """One admin service. What the access calls timeout is for a whole answer, with all attempts.

    Args:
        url: `http://host:port` or `https://host:port`, with or without a path before `/admin`.
        access: token, certificates, limits.
        sleep: waits between attempts.
        patience: with the service, where an audit bounds how long it is waited for in all.

    Raises:
        UsageError: the address or a certificate cannot be used.
    """

    def __init__(
        self, url: str, access: Access, sleep: Callable[[float], None] = time.sleep, patience: Patience | None = None
    ) -> None:
        self.url = checked_url(url)
        if against := access.against_token(self.url):
            raise UsageError(f"--admin-url {self.url}: {against}")
        self._access = access
        self._sleep = sleep
        self._patience = patience
        tls = tls_context(access) if self.url.startswith("https:") else None
        self._pool = urllib3.PoolManager(maxsize=8, retries=False, ssl_context=tls)
        self._pool.pool_classes_by_scheme = POOLS

    def close(self) -> None:
        """Close all connections."""
        self._pool.clear()

    def request(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> bytes:
        """The body of a good answer. Only GET is tried again.

        Raises:
            AdminError: there was none.
        """
        return self._answered(method, path, query, body).content

    def headers(self, path: str) -> Mapping[str, str]:
        """The headers of a good answer, whose body may be anything.

        Raises:
            AdminError: there was none.
        """
        return self._answered("GET", path, None, None, any_body=True).headers

    def _answered(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None, *, any_body: bool = False
    ) -> _Answer:
        url = f"{self.url}{path}" + (f"?{urlencode(query)}" if query else "")
        began = time.monotonic()
        seconds = self._seconds(url)
        try:
            answer = self._attempts(method, url, body, began + seconds, any_body=any_body)
        except AdminError as error:
            if self._patience and error.status is None:
                self._patience.gave_up(time.monotonic() - began, str(error))
            raise
        if self._patience:
            self._patience.answered()
        return answer

    def _seconds(self, url: str) -> float:
        """How long the answer may take, all attempts together."""
        if self._patience is None:
            return self._access.timeout_seconds
        if closed := self._patience.closed:
            raise AdminError(url, "unreachable", f"not asked any more in this run, after: {closed}")
        return self._patience.seconds()

    def _attempts(self, method: str, url: str, body: bytes | None, until: float, *, any_body: bool) -> _Answer:
        attempts = self._access.attempts if method == "GET" else 1
        for attempt in range(1, attempts + 1):
            try:
                return self._once(method, url, body, until, any_body=any_body)
            except AdminError as error:
                passing = error.reason in ("unreachable", "interrupted") or error.status in _PASSING
                wait = 0.5 * 2 ** (attempt - 1)
                bounded = self._patience is not None
                if attempt == attempts or not passing or time.monotonic() + wait * bounded >= until:
                    raise
            self._sleep(wait)
            until += 0.0 if bounded else wait
        raise AssertionError("no attempt was made")

    def _once(self, method: str, url: str, body: bytes | None, until: float, *, any_body: bool) -> _Answer:
        for _ in range(_MAX_REDIRECTS):
            answer = self._exchange(method, url, body, until)
            target = answer.headers.get("Location")
            if answer.status not in _REDIRECTS or target is None:
                if answer.is_html and answer.status < 400 and not any_body:
                    raise AdminError(url, "failed", _HTML, answer.status)
                if answer.status >= 300:
                    raise _refusal(url, answer.status, answer.content, answer.is_html, self._access)
                return answer
            url = self._followed(url, target)
        raise AdminError(url, "failed", f"more than {_MAX_REDIRECTS} redirects: brokers disagree on who owns the topic")

    def _followed(self, url: str, location: str) -> str:
        """Where an answer redirects to: the owner of a topic is another broker, so the token must follow.

        Raises:
            AdminError: it would go where nobody said it may.
        """
        try:
            target = urljoin(url, location)
            checked_url(target.partition("?")[0].partition("#")[0])
        except (ValueError, UsageError):
            raise AdminError(
                url, "failed", f"redirects to {location!r}, which is not the address of a web service"
            ) from None
        if urlsplit(url).scheme == "https" and urlsplit(target).scheme != "https":
            raise AdminError(url, "failed", f"redirects from https to {target!r}; refused, to keep the token secret")
        if not self._access.follows(url, target):
            host = urlsplit(target).hostname
            raise AdminError(
                url, "failed",
                f"redirects to host {host!r}, and the token goes only to hosts that you name: "
                f"if that is a broker of this cluster, add --broker-host {host}",
            )  # fmt: skip
        if against := self._access.against_token(target):
            raise AdminError(url, "failed", f"redirects to {target}: {against}")
        return target

    def _exchange(self, method: str, url: str, body: bytes | None, until: float) -> _Answer:
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self._access.token is not None:
            headers["Authorization"] = f"Bearer {self._access.token}"
        seconds = max(_LEAST_SECONDS, until - time.monotonic())
        timeout = urllib3.Timeout(connect=min(10.0, seconds), read=seconds)
        try:
            answer = self._pool.request(
                method, url, headers=headers, body=body, redirect=False, preload_content=False, timeout=timeout
            )
            try:
                content = content_without_secrets(answer.read(MAX_ANSWER_BYTES + 1, decode_content=True))
            finally:
                answer.release_conn()
        except HTTPError as error:
            raise _no_answer(url, error, self._access, seconds) from None
        if len(content) > MAX_ANSWER_BYTES:
            raise AdminError(url, "failed", f"more than {MAX_ANSWER_BYTES} bytes: not an answer about one topic")
        return _Answer(answer.status, answer.headers, content)


def checked_url(url: str) -> str:
    """The address without a slash at its end.

    Raises:
        UsageError: it is not the address of a web service.
    """
    expected = UsageError(f"--admin-url {url}: expected http://host:port or https://host:port")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise expected from None
    if parts.username is not None or parts.password is not None:
        raise UsageError("--admin-url must not hold credentials; give a token with --token-file")
    if parts.scheme in ("pulsar", "pulsar+ssl"):
        raise UsageError(
            f"--admin-url {url}: this is the service URL; the admin API is a web service, such as http://broker:8080"
        )
    if (
        parts.scheme not in _TRUSTED_SCHEMES
        or not parts.hostname
        or parts.query
        or parts.fragment
        or not port_of(parts)
    ):
        raise expected
    return url.rstrip("/")


def port_of(parts: SplitResult, default: int = 80) -> int | None:
    """The port of an address, a default where it names none; None where it is no number of a port."""
    try:
        return default if parts.port is None else parts.port
    except ValueError:
        return None


def segment(text: str) -> str:
    """One part of a path: everything percent-encoded, also the dots that would mean a folder."""
    encoded = quote(text, safe="")
    return encoded.replace(".", "%2E") if text in (".", "..") else encoded


_HTML = (
    "answered an HTML page, not JSON: this is a proxy or another web server; --admin-url must be the broker's "
    "web service, such as http://broker:8080"
)


def _no_answer(url: str, error: HTTPError, access: Access, seconds: float) -> AdminError:
    if isinstance(error, SSLError):
        return AdminError(url, "failed", f"no TLS ({innermost_words(error)}): {tls_remedy(error, access)}")
    if isinstance(error, NewConnectionError):
        detail = "no connection: check --admin-url and that the broker runs"
        return AdminError(url, "unreachable", detail)
    if isinstance(error, ReadTimeoutError | ConnectTimeoutError):
        detail = f"no answer within {seconds:.3g} s: try later, or give more time with --timeout-seconds"
        return AdminError(url, "unreachable", detail)
    return AdminError(url, *broken(error, url, access))


def _refusal(url: str, status: int, content: bytes, is_html: bool, access: Access) -> AdminError:
    if status == 401 and access.token is None and access.cert_file is None:
        detail = f"asks for authentication (401): give a token with --token-file or {TOKEN_VARIABLE}"
    elif status == 401:
        detail = (
            "does not accept the token or certificate, or its role has no permission for this (401): give one of "
            "a role that has"
        )
    elif status == 403:
        detail = (
            "the role of the token or certificate has no permission for this (403): use one that administers the tenant"
        )
    elif status == 404:
        detail = "there is no such thing (404)"
    elif is_html:
        return AdminError(url, "failed", _HTML, status)
    else:
        detail = f"status {status}"
    reason = {401: "permission_denied", 403: "permission_denied", 404: "not_found"}.get(status, "failed")
    words = "" if is_html else " ".join(content[:200].decode(errors="replace").split())
    return AdminError(url, reason, f"{detail}; it said {words!r}" if words else detail, status)
