"""Every way in which an admin service can fail to answer is one sentence with address, status and remedy."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pulsar_backlog.cluster.access import Access, read_access
from pulsar_backlog.cluster.admin_http import AdminError, AdminHttp
from pulsar_backlog.cluster.admin_rest import AdminRest
from pulsar_backlog.errors import UsageError
from tests.broker.identity import Identity, make_identity
from tests.cluster.admin_server import AdminServer, Answer, admin_server

TENANTS = "/admin/v2/tenants"
QUICK = Access(timeout_seconds=0.5)
HTML = Answer(200, b"<html><body>log in</body></html>", {"Content-Type": "text/html"})


@pytest.fixture
def server() -> Iterator[AdminServer]:
    with admin_server() as running:
        yield running


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return make_identity(tmp_path_factory.mktemp("keys") / "identity")


def ask(url: str, access: Access = QUICK, waited: list[float] | None = None) -> list[str]:
    waited = [] if waited is None else waited
    with closing(AdminHttp(url, access, waited.append)) as http:
        return AdminRest(http).tenants()


@pytest.mark.parametrize(
    ("answer", "token", "words", "times"),
    [
        (Answer(401, b'{"reason":"who?"}'), None, "asks for authentication (401): give a token with --token-file", 1),
        (Answer(401, b"HTTP 401"), "t", "does not accept the token or certificate", 1),
        (
            Answer(403, b'{"reason":"no"}'),
            "t",
            "has no permission for this (403): use one that administers the tenant",
            1,
        ),
        (Answer(404, b"{}"), None, "there is no such thing (404)", 1),
        (Answer(412, b'{"reason":"Topic name is not valid"}'), None, "status 412; it said", 1),
        (Answer(500, b'{"reason":"boom"}'), None, "status 500; it said", 4),
        (Answer(429, b""), None, "status 429", 4),
        (HTML, None, "answered an HTML page, not JSON", 1),
        (Answer(502, b"<html>bad gateway</html>", {"Content-Type": "text/html"}), None, "HTML page", 4),
        (Answer(200, b'["a", "b'), None, "not whole JSON at character 6 of 8 bytes", 1),
        (Answer(200, b'["a"', length=100), None, "the connection broke", 4),
        (Answer(200, b""), None, "not whole JSON", 1),
        (Answer(200, b"{}"), None, "answered JSON that is not a list", 1),
        (Answer(200, b"[" * 100_000), None, "not whole JSON", 1),  # nested without end
        (Answer(500, b"\x1b[31m\xff\n" * 999), None, "status 500; it said '\\x1b[31m", 4),  # cannot steer a terminal
    ],
)
def test_answers_that_are_none(server: AdminServer, answer: Answer, token: str | None, words: str, times: int) -> None:
    server.answers[TENANTS] = answer
    with pytest.raises(AdminError) as raised:
        ask(server.url, Access(token))
    said = str(raised.value)
    assert words in said
    assert said.startswith(server.url + TENANTS)
    assert len(said) < 600
    assert said.isprintable()
    assert server.times(TENANTS) == times


def test_what_passes_is_tried_again(server: AdminServer) -> None:
    answers = iter([Answer(503), Answer(200, b"[", length=9), Answer(200, b'["a"]')])
    server.answers[TENANTS] = lambda _: next(answers)
    waited: list[float] = []
    assert ask(server.url, waited=waited) == ["a"]
    assert waited == [0.5, 1.0]


def test_no_answer_in_time(server: AdminServer) -> None:
    server.answers[TENANTS] = lambda _: time.sleep(1) or Answer()  # type: ignore[func-returns-value]
    with pytest.raises(AdminError, match=r"no answer within 0\.2 s: try later, or give more time with --timeout-sec"):
        ask(server.url, Access(timeout_seconds=0.2, attempts=1))


def test_nobody_listens() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        with pytest.raises(AdminError, match="no connection: check --admin-url"):
            ask(f"http://127.0.0.1:{held.getsockname()[1]}")


def test_the_token_follows_to_the_owner_of_a_topic(server: AdminServer) -> None:
    with admin_server() as owner:
        owner.says(TENANTS, ["a"])
        server.answers[TENANTS] = Answer(307, headers={"Location": owner.url + TENANTS})
        assert ask(server.url, Access("secret")) == ["a"]
        assert owner.asked == [(TENANTS, "Bearer secret")]


FAR = "http://192.0.2.1:8080"  # RFC 5737: nobody's


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("https://192.0.2.1:8443", "redirects to host '192.0.2.1', and the token goes only to hosts that you"),
        (FAR, "redirects to host '192.0.2.1'"),
        ("ftp://127.0.0.1:1", "is not the address of a web service"),
        ("http://me:word@127.0.0.1:1", "is not the address of a web service"),
        ("http://127.0.0.1:port", "is not the address of a web service"),
        ("http://[", "is not the address of a web service"),
    ],
)
def test_where_no_token_follows(server: AdminServer, target: str, words: str) -> None:
    server.answers[TENANTS] = Answer(307, headers={"Location": target + TENANTS})
    with pytest.raises(AdminError) as raised:
        ask(server.url, Access("secret-token"))
    assert words in str(raised.value)
    assert server.times(TENANTS) == 1


def test_a_host_that_was_named_gets_the_token(server: AdminServer) -> None:
    """Its name resolves to nothing here; that it is asked for is what counts."""
    server.answers[TENANTS] = Answer(307, headers={"Location": f"https://broker-2.invalid{TENANTS}"})
    named = Access("secret-token", attempts=1, broker_hosts=("broker-*.invalid",))
    with pytest.raises(AdminError, match=r"https://broker-2.invalid/.*no connection"):
        ask(server.url, named)


def test_without_a_token_redirects_are_followed_to_any_host(server: AdminServer) -> None:
    server.answers[TENANTS] = Answer(307, headers={"Location": f"https://broker-2.invalid{TENANTS}"})
    with pytest.raises(AdminError, match=r"https://broker-2.invalid/.*no connection"):
        ask(server.url, Access(attempts=1))


def test_a_token_without_tls_is_a_choice() -> None:
    with pytest.raises(UsageError, match=r"^--admin-url http://192.0.2.1:8080: .*add --token-without-tls") as raised:
        AdminHttp(FAR, Access("secret-token"))
    assert "secret-token" not in str(raised.value)
    for url, access in (
        (FAR, Access("t", token_without_tls=True)), (FAR, Access()), (FAR.replace("http", "https"), Access("t")),
        ("http://localhost:1", Access("t")), ("http://[::1]:1", Access("t")), ("http://127.8.9.1:1", Access("t")),
    ):  # fmt: skip
        AdminHttp(url, access).close()


def test_a_chosen_token_without_tls_goes_to_named_hosts_only(server: AdminServer) -> None:
    server.answers[TENANTS] = Answer(307, headers={"Location": FAR + TENANTS})
    with pytest.raises(AdminError, match="redirects to host"):
        ask(server.url, Access("t", token_without_tls=True))
    with pytest.raises(AdminError, match="add --token-without-tls"):
        ask(server.url, Access("t", broker_hosts=("192.0.2.*",)))


def test_redirects_end(server: AdminServer) -> None:
    server.answers[TENANTS] = Answer(307, headers={"Location": TENANTS})
    with pytest.raises(AdminError, match="more than 5 redirects"):
        ask(server.url)


def test_the_token_never_leaves_in_the_clear(server: AdminServer, identity: Identity) -> None:
    with admin_server((identity.server_cert, identity.server_key)) as secure:
        secure.answers[TENANTS] = Answer(307, headers={"Location": server.url + TENANTS})
        with pytest.raises(AdminError, match=r"redirects from https to .* refused"):
            ask(secure.url, Access("secret", ca_file=identity.ca))
    assert server.asked == []


def test_tls_needs_the_authority(identity: Identity) -> None:
    with admin_server((identity.server_cert, identity.server_key)) as secure:
        secure.says(TENANTS, ["a"])
        assert ask(secure.url, Access(ca_file=identity.ca)) == ["a"]
        with pytest.raises(AdminError, match="give the authority's certificate with --ca-file"):
            ask(secure.url)
        with pytest.raises(AdminError, match="the connection broke"):
            ask(secure.url.replace("https", "http"))


def test_mutual_tls(identity: Identity) -> None:
    with admin_server((identity.server_cert, identity.server_key), identity.ca) as secure:
        secure.says(TENANTS, ["a"])
        ours = Access(ca_file=identity.ca, cert_file=identity.client_cert, key_file=identity.client_key)
        assert ask(secure.url, ours) == ["a"]
        with pytest.raises(AdminError, match="give --cert-file and --key-file") as caught:
            ask(secure.url, Access(ca_file=identity.ca))
        assert "--ca-file" not in str(caught.value)


def test_a_certificate_that_is_none(identity: Identity, tmp_path: Path) -> None:
    (tmp_path / "ca").write_text("no certificate")
    with pytest.raises(UsageError, match="PEM files are expected"):
        ask("https://127.0.0.1:1", Access(ca_file=tmp_path / "ca"))
    with pytest.raises(UsageError, match="PEM files are expected"):  # the key of another certificate
        ask("https://127.0.0.1:1", Access(cert_file=identity.client_cert, key_file=identity.server_key))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("pulsar://broker:6650", "this is the service URL"),
        ("http://me:word@broker:8080", "must not hold credentials"),
        ("broker:8080", "expected http://host:port"),
        ("http://", "expected http://host:port"),
        ("http://broker:8080/?x=1", "expected http://host:port"),
    ],
)
def test_addresses_that_are_none(url: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as raised:
        AdminHttp(url, Access())
    assert "word@" not in str(raised.value)


@pytest.mark.parametrize("content", ["", " \n", "two words", "line\nline", "ünï", "nul\0"])
def test_a_token_that_is_none(content: str, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(content)
    with pytest.raises(UsageError, match="holds no token") as raised:
        read_access(path, None, None, None, 1, {})
    assert not content.strip() or content not in str(raised.value)


def test_where_a_token_comes_from(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("of-file\n")
    environment = {"PULSAR_BACKLOG_TOKEN": "of-environment"}
    assert read_access(path, None, None, None, 1, environment).token == "of-file"
    assert read_access(None, None, None, None, 1, environment).token == "of-environment"
    assert read_access(None, None, None, None, 1, {}).token is None
    assert "of-file" not in repr(read_access(path, None, None, None, 1, {}))
    with pytest.raises(UsageError, match=r"--token-file .*: No such file"):
        read_access(tmp_path / "none", None, None, None, 1, {})
    with pytest.raises(UsageError, match="--key-file without --cert-file"):
        read_access(None, None, None, path, 1, {})
