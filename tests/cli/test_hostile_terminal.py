"""Every command on a terminal, with names and answers that would steer it: text stays text.

The terminal is a pseudo-terminal of the system; the commands run in this process, and find the session of the tests.
"""

from __future__ import annotations

import json
import os
import pty
import re
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.cli import run_cli
from pulsar_backlog.jobfiles import load_job
from pulsar_backlog.repair.values import Action, Plan, Run, write_plan
from tests.cluster.admin_server import Answer, admin_server
from tests.ledgers.encoding import offload
from tests.ledgers.sources import put
from tests.wire.encode import entry, number, pair, run

NEEDS_SPARK = True

ACTING = (
    "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\u2066\u200f\u2028\u2029\x85\r\n\x7f[bold red]x[/]:bug:[link=http://e]y[/]"
)
SIGN = r"\x1b]0;owned"
"""How the beginning of it looks when it is written out."""

NAME = f"t{ACTING}".replace("/", "")
TOPIC = f"persistent://lab/s/{NAME}"
RICHS_OWN = re.compile(r"\x1b\[(\d+(;\d+)*)?[mKA]|\x1b\[\?25[lh]|\r\n|\r(?=\x1b\[)")
"""Colours, and what a progress bar needs to be drawn again."""

ACTS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZG1pbiJ9.9c0t5qJ8vYp1wK3mX7nB2rL6hD4sF0gA"
HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Shown:
    """What a command did to a terminal."""

    code: int
    raw: str

    @property
    def text(self) -> str:
        """What a reader sees, on one line: lines are broken where the terminal ends."""
        return "".join(line.strip() for line in RICHS_OWN.sub("\n", self.raw).splitlines())


@contextmanager
def a_terminal(columns: int = 120) -> Iterator[list[bytes]]:
    """Standard output and error as a terminal; what was written to it, once it is closed."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (40, columns))
    heard: list[bytes] = []

    def listen() -> None:
        try:
            while some := os.read(master, 65536):
                heard.append(some)
        except OSError:  # the other end is closed
            pass

    thread = threading.Thread(target=listen)
    thread.start()
    before = sys.stdout, sys.stderr
    stream = os.fdopen(slave, "w", encoding="utf-8", newline="")
    sys.stdout = sys.stderr = stream
    try:
        yield heard
    finally:
        sys.stdout, sys.stderr = before
        stream.close()
        thread.join(10)
        os.close(master)


def shown(*argv: str | Path) -> Shown:
    """Run the program."""
    with pytest.MonkeyPatch.context() as patch, a_terminal() as heard:
        patch.setenv("TERM", "xterm-256color")
        patch.setenv("COLUMNS", "120")
        for name in ("NO_COLOR", "FORCE_COLOR", "CI"):
            patch.delenv(name, raising=False)
        patch.setattr(sys, "argv", ["pulsar-backlog", *map(str, argv)])
        try:
            run_cli()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Shown(code, b"".join(heard).decode())


def is_harmless(one: Shown, sign: str = SIGN) -> None:
    """The names were shown, and as text."""
    assert sign in one.text, one.raw
    assert not ACTS.search(RICHS_OWN.sub("", one.raw))
    assert TOKEN[:20] not in one.raw
    assert "Traceback" not in one.raw


def chunk(uuid: bytes, chunk_id: int, count: int, at_ms: int, sequence: int) -> bytes:
    """One chunk of 4 bytes."""
    head = run(1, NAME.encode()) + number(2, sequence) + number(3, at_ms) + pair(NAME.encode(), NAME.encode())
    head += run(6, NAME.encode()) + number(9, 4 * count)
    return entry(head + run(26, uuid) + number(27, count) + number(28, 4 * count) + number(29, chunk_id), b"abcd")


def plain(at_ms: int, sequence: int) -> bytes:
    head = run(1, NAME.encode()) + number(2, sequence) + number(3, at_ms) + run(6, NAME.encode())
    return entry(head + number(9, 2), b"hi")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger whose names act: one message that is whole, one that never will be, and time enough after it."""
    uuid, whole = NAME.encode(), b"whole" + NAME.encode()
    bodies = [chunk(uuid, 0, 3, HOUR_MS, 1), *(chunk(whole, n, 2, HOUR_MS + 5, 2) for n in range(2))]
    bodies += [plain((2 + n) * HOUR_MS, 3 + n) for n in range(20)]
    folder = tmp_path_factory.mktemp("hostile") / "objects"
    put(folder, offload(bodies, managed_ledger=f"lab/s/persistent/{quote(NAME, safe='')}"))
    (folder / f"odd{NAME}").write_bytes(b"no ledger")
    return folder


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saved state: a subscription that stands at the message that never will be whole."""
    folder = tmp_path_factory.mktemp("hostile-admin")
    cursor = {
        "markDeletePosition": "7:-1", "readPosition": "7:0", "individuallyDeletedMessages": "[(7:0..7:22]]",
        "cursorLedger": -1, "state": "NoLedger", "active": False, "properties": {NAME: 1},
    }  # fmt: skip
    ledgers = [
        {"ledgerId": 7, "entries": 23, "size": 900, "offloaded": True},
        {"ledgerId": 9, "entries": 0, "size": 0, "offloaded": False},
    ]
    internal = {"lastConfirmedEntry": "7:22", "state": "LedgerOpened", "ledgers": ledgers, "cursors": {NAME: cursor}}
    stats = {"publishers": [{"producerName": NAME}], "subscriptions": {NAME: {"type": NAME, "consumers": []}}}
    for kind, body in {"internalStats": internal, "stats": stats}.items():
        (folder / f"hostile.{kind}.json").write_text(json.dumps({"partitions": {TOPIC: body}}))
    return folder


@pytest.fixture(scope="module")
def out(spark: SparkSession, source: Path, admin: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an audit, which is looked at itself."""
    folder = tmp_path_factory.mktemp("hostile-out") / "out"
    first = shown("audit", source, "--out", folder, "--admin", admin, "--cluster", "h")
    assert first.code in (1, 4), first.raw
    is_harmless(first)
    again = shown("audit", source, "--out", folder, "--admin", admin, "--cluster", "h")
    is_harmless(again, "Nothing new to do")
    return folder


@pytest.mark.parametrize(
    ("argv", "codes"),
    [
        (("run", "audit", "--source", "SOURCE", "--out", "OUT2", "--admin", "ADMIN", "--cluster", "h"), (1, 4)),
        (("explain", "SOURCE", "7:0"), (0,)),
        (("explain", "SOURCE", "7:0", "--admin", "ADMIN", "--show-values"), (0,)),
        (("locate", "OUT", "--id", "7:0"), (0,)),
        (("locate", "OUT", "--uuid", NAME), (0,)),
        (("locate", "OUT", "--time", "1970-01-01T05:00:00Z"), (0,)),
        (("sql", "OUT", "SELECT topic, producer_name, uuid FROM entries"), (0,)),
        (("sql", "OUT", f"SELECT `{NAME}` FROM entries"), (2,)),
        (("repair", "plan", "OUT", "--cluster", "h", "--accept-unsure", "likely"), (0, 99)),
        (("repair", "plan", "OUT", "--cluster", "h", "--explain", "0"), (0, 99)),
    ],
)  # fmt: skip
def test_commands_that_read_an_audit(
    out: Path, source: Path, admin: Path, tmp_path: Path, argv: tuple[str, ...], codes: tuple[int, ...]
) -> None:
    places = {"SOURCE": source, "OUT": out, "ADMIN": admin, "OUT2": tmp_path / "out"}
    one = shown(*(places.get(word, word) for word in argv))
    assert one.code in codes, one.raw
    is_harmless(one, "\\x1b" if one.code == 2 else SIGN)  # what does not parse is quoted up to there


def test_an_export(out: Path, source: Path, tmp_path: Path) -> None:
    to = tmp_path / NAME.replace("\n", "")
    one = shown("export", out, "--cluster", "h", "--to", to, "--format", "files")
    assert one.code in (0, 1), one.raw
    is_harmless(one)
    one = shown("export", out, "--cluster", "h", "--topic", NAME)
    assert one.code == 2
    is_harmless(one)


@pytest.mark.parametrize(
    "argv",
    [
        (ACTING,),
        ("audit", "SOURCE", f"--{ACTING}"),
        ("audit", ACTING, "--out", "OUT2"),
        ("run", ACTING),
        ("audit", "SOURCE", "--out", "OUT2", "--ledger", ACTING),
        ("audit", "SOURCE", "--out", "OUT2", "--since", ACTING),
        ("explain", "SOURCE", ACTING),
        ("sql", NAME, "SELECT 1"),
        ("export", "SOURCE", "--out", "OUT2", "--since", ACTING),
        ("repair", "show", ACTING),
        ("repair", ACTING),
        ("repair", "plan", "OUT2", "--cluster", "h", "--code", ACTING),
        ("locate", "OUT2", "--id", ACTING),
        ("locate", "OUT2", "--time", ACTING),
        ("snapshot", "--admin-url", f"http://{ACTING}", "--out", "OUT2"),
        ("snapshot", "--admin-url", "http://127.0.0.1:9", "--out", "OUT2", "--token-file", ACTING),
        ("repair", "verify", "PLAN", "--admin-url", "http://127.0.0.1:9", "--service-url", f"pulsar://{ACTING}"),
    ],
)  # fmt: skip
def test_what_the_user_mistypes_or_pastes(argv: tuple[str, ...], source: Path, tmp_path: Path) -> None:
    places = {"SOURCE": source, "OUT2": tmp_path / "out", "PLAN": _plan(tmp_path / "plan")}
    one = shown(*(places.get(word, word) for word in argv))
    assert one.code == 2, one.raw
    is_harmless(one)


def _plan(folder: Path) -> Path:
    action = Action(
        0, "acknowledge", TOPIC, f"because{ACTING}", NAME, (Run(7, 0, 0),), expected_mark_delete=(7, -1),
        expected_type="Shared", affects=ACTING, undo=ACTING, evidence=(ACTING,),
    )  # fmt: skip
    write_plan(folder, Plan(f"c{ACTING}", (action,)), {})
    return folder


@pytest.mark.parametrize("flags", [(), ("--action", "0")])
def test_a_plan_is_shown(flags: tuple[str, ...], tmp_path: Path) -> None:
    one = shown("repair", "show", _plan(tmp_path / "plan"), *flags)
    assert one.code == 0
    is_harmless(one)


@pytest.mark.parametrize("status", [200, 401, 404, 409, 500])
@pytest.mark.parametrize("verb", ["apply", "apply --yes", "verify"])
def test_a_plan_meets_a_hostile_cluster(
    verb: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULSAR_BACKLOG_TOKEN", TOKEN)
    plan = _plan(tmp_path / "plan")
    body = f'{{"reason": "{ACTING} Bearer {TOKEN}"}}'.encode()
    path = f"/admin/v2/persistent/lab/s/{quote(NAME, safe='')}"
    with admin_server() as server:
        for kind in ("stats", "internalStats"):
            server.answers[f"{path}/{kind}"] = Answer(status, body)
        one = shown("repair", *verb.split()[:1], plan, "--admin-url", server.url, "--service-url", "pulsar://127.0.0.1:9",
                    "--timeout-seconds", "1", *verb.split()[1:])  # fmt: skip
        assert server.times(f"{path}/stats") or verb == "verify"  # nothing was begun
    assert one.code in (1, 4), one.raw
    is_harmless(one, SIGN if (verb, status) != ("apply", 200) else "%1B%5D0%3Bowned")
    journal = "".join(file.read_text() for file in plan.glob("*.jsonl"))
    assert TOKEN[:20] not in journal
    assert not ACTS.search(journal)


def test_a_snapshot_of_a_hostile_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULSAR_BACKLOG_TOKEN", TOKEN)
    with admin_server() as server:
        server.holds("good")
        server.says("/admin/v2/persistent/lab/s", ["persistent://lab/s/good", TOPIC])
        path = f"/admin/v2/persistent/lab/s/{quote(NAME, safe='')}"
        server.answers[f"{path}/internalStats"] = Answer(403, f"{ACTING} Bearer {TOKEN}".encode())
        server.answers["/admin/v2/clusters"] = Answer(403, f"{ACTING} Bearer {TOKEN}".encode())
        one = shown("snapshot", "--admin-url", server.url, "--out", tmp_path / "s")
        assert one.code == 4
        is_harmless(one)
        server.answers["/admin/v2/tenants"] = Answer(500, f"{ACTING} Bearer {TOKEN}".encode())
        one = shown("snapshot", "--admin-url", server.url, "--out", tmp_path / "t", "--timeout-seconds", "1")
    assert one.code == 4
    is_harmless(one)


@contextmanager
def hostile_store(status: int) -> Iterator[str]:
    """An S3 service that answers every request with the same words."""

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            key = self.headers.get("Authorization", "")
            body = (
                f"<Error><Code>Odd{ACTING}</Code><Message>{ACTING} {key} {os.environ['AWS_SECRET_ACCESS_KEY']}"
                "</Message></Error>"
            ).replace("\x07", "").replace("\x1b", "&#27;")  # fmt: skip
            self.send_response(status)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body.encode())

        do_HEAD = do_GET  # noqa: N815 - the name is the library's

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@pytest.mark.parametrize("status", [400, 403])
def test_a_hostile_store(spark: SparkSession, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with hostile_store(status) as endpoint:
        for argv in (
            ("explain", "s3://bucket", "7:0", "--endpoint", endpoint),
            ("audit", "s3://bucket", "--out", tmp_path / "out", "--endpoint", endpoint),
        ):
            one = shown(*argv)
            assert one.code not in (0, 3), one.raw
            assert not ACTS.search(RICHS_OWN.sub("", one.raw))
            assert secret not in one.raw
            assert "AKIAIOSFODNN7EXAMPLE" not in one.raw
    left = [path.read_text(errors="replace") for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert not [text for text in left if secret in text or "AKIAIOSFODNN7EXAMPLE" in text]


def test_a_job_by_itself(spark: SparkSession, tmp_path: Path) -> None:
    """As spark-submit runs it: argparse's words, and the job's own."""
    for argv in (
        ["--source", "x", "--out", "y", ACTING],
        ["--source", ACTING, "--out", str(tmp_path)],
    ):
        with a_terminal() as heard:
            try:
                assert load_job("assemble_chunks").main(argv) == 2
            except SystemExit as ended:
                assert ended.code == 2
        is_harmless(Shown(2, b"".join(heard).decode()))
