"""Snapshots of a small admin service: what is saved, what a kill leaves, what is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.cli import run_cli
from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.snapshot import named_files
from pulsar_backlog.cluster.snapshot_index import INDEX_NAME
from pulsar_backlog.cluster.snapshot_policies import without_secret_members
from pulsar_backlog.terms import LOCK_NAME
from tests.auditing import DATA
from tests.cluster.admin_server import AdminServer, Answer, admin_server
from tests.places import held_elsewhere

TOPICS = "/admin/v2/persistent/lab/s"
SCALABLE = DATA / "pulsar5" / "scalable"


@pytest.fixture
def server() -> Iterator[AdminServer]:
    with admin_server() as running:
        yield running


@pytest.fixture
def snapshot(
    server: AdminServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """Runs the command on the server into one folder; exit code, result, and what it said of errors."""

    def run(*argv: str, out: str = "s") -> tuple[int, dict[str, Any], str]:
        line = ["pulsar-backlog", "snapshot", "--admin-url", server.url, "--out", str(tmp_path / out), *argv]
        monkeypatch.setattr(sys, "argv", line)
        with pytest.raises(SystemExit) as ended:
            run_cli()
        said = capsys.readouterr()
        return int(ended.value.code or 0), json.loads(said.out) if said.out else {}, said.err

    return run


def test_scalable_topics_are_named_and_their_layouts_saved(server: AdminServer, snapshot: Any, tmp_path: Path) -> None:
    server.holds("a")
    layouts = {
        "clicks": SCALABLE / "acme__shop__race",
        "eu%2Fboard": SCALABLE / "acme__shop__transfers",
    }  # M1 keeps names encoded
    server.says("/admin/v2/scalable/lab/s", [f"topic://lab/s/{name}" for name in layouts])
    for name, file in layouts.items():
        path = f"/admin/v2/scalable/lab/s/{name.replace('%', '%25')}"
        server.says(path, json.loads(Path(f"{file}.scalable.json").read_text()))
    code, said, _ = snapshot()
    assert (code, said["saved"], said["failed"]) == (4, 1, 0)
    assert [one.split(":")[0] for one in said["unknown"]] == [
        "ledgers and subscriptions of 2 scalable topics, such as topic"
    ]
    state = read_cluster_state(tmp_path / "s", {})
    assert {topic: len(of.segments) for topic, of in state.layouts.items()} == {
        "topic://lab/s/clicks": 3,
        "topic://lab/s/eu%2Fboard": 5,
    }
    assert state.findings == ()
    code, said, _ = snapshot("--topic", "topic://lab/s/cl*", out="only")
    assert (code, said["saved"]) == (4, 0)
    code, _, error = snapshot("--topic", "persistent://lab/s/cl*", out="none")
    assert (code, "no topic on" in error) == (2, True)


def test_what_is_saved(server: AdminServer, snapshot: Any, tmp_path: Path) -> None:
    server.holds("a", "b")
    code, said, _ = snapshot()
    assert (code, said["saved"], said["new"]) == (0, 2, 2)
    kinds = ("internalStats", "internal-info", "stats", "policies")
    topics = {f"lab__s__{topic}.{kind}.json" for topic in "ab" for kind in kinds}
    assert {path.name for path in (tmp_path / "s").iterdir()} == {
        *topics, "cluster.json", "lab__s.namespace.json", INDEX_NAME, LOCK_NAME,
    }  # fmt: skip
    state = read_cluster_state(tmp_path / "s", {})
    assert state.findings == ()
    assert {name: topic.last_confirmed for name, topic in state.topics.items()} == {
        "persistent://lab/s/a": (0, 2), "persistent://lab/s/b": (1, 2),
    }  # fmt: skip
    assert "hidden" not in (tmp_path / "s" / "cluster.json").read_text()
    assert all(path.startswith("/admin") for path, _ in server.asked)


def test_a_folder_that_another_run_writes_to_is_refused(server: AdminServer, snapshot: Any, tmp_path: Path) -> None:
    server.holds("a")
    with held_elsewhere(tmp_path / "s") as other:
        code, _, said = snapshot()
    assert (code, f"process {other.pid} on" in said) == (2, True)
    assert snapshot()[0] == 0


ECHO = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZG1pbiJ9.9c0t5qJ8vYp1wK3mX7nB2rL6hD4sF0gA"


def test_a_server_that_repeats_the_token(
    server: AdminServer, snapshot: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In documents, in an error, in one that is cut off, and in a redirect; nowhere does it come back."""
    monkeypatch.setenv("PULSAR_BACKLOG_TOKEN", ECHO)
    server.holds("a", "b", "c", "d")
    server.says("/admin/v2/brokers/version", f"4.0.8 for Bearer {ECHO}")
    server.says(f"{TOPICS}/a/stats", {"publishers": [], "subscriptions": {}, "request": f"Bearer {ECHO}"})
    server.answers[f"{TOPICS}/b/stats"] = Answer(403, f'{{"reason":"not for {ECHO}"}}'.encode())
    server.answers[f"{TOPICS}/c/stats"] = Answer(412, f"Bearer {ECHO[:60]}... \x1b]0;owned\x07".encode())
    server.answers[f"{TOPICS}/d/internal-info"] = Answer(307, headers={"Location": f"http://192.0.2.1/{ECHO}"})
    code, said, errors = snapshot()
    assert (code, said["failed"]) == (4, 3)
    assert server.asked[0][1] == f"Bearer {ECHO}"
    files = {path.name: path.read_text() for path in (tmp_path / "s").iterdir()}
    for text in (json.dumps(said), errors, *files.values()):
        assert not [at for at in range(len(ECHO) - 16) if ECHO[at : at + 16] in text]
        assert not {"\x1b", "\x07"} & set(text)
    assert json.loads(files["lab__s__a.stats.json"])["request"] == "Bearer ***"
    assert 'it said \'{"reason":"not for ***"}\'' in said["not_saved"]["persistent://lab/s/b"]


def test_a_finished_snapshot_is_left_alone(server: AdminServer, snapshot: Any) -> None:
    server.holds("a", "b")
    snapshot()
    server.asked.clear()
    code, said, _ = snapshot()
    assert (code, said["saved"], said["new"]) == (99, 2, 0)
    assert server.times(f"{TOPICS}/a/stats") == 0


def test_what_failed_is_tried_again_and_nothing_else(server: AdminServer, snapshot: Any) -> None:
    server.holds("a", "b", "c")
    good = server.answers[f"{TOPICS}/b/stats"]
    server.answers[f"{TOPICS}/b/stats"] = Answer(403, b"{}")
    code, said, _ = snapshot()
    assert (code, said["saved"], said["failed"]) == (4, 2, 1)
    assert "(403)" in said["not_saved"]["persistent://lab/s/b"]
    server.answers[f"{TOPICS}/b/stats"] = good
    server.asked.clear()
    code, said, _ = snapshot()
    assert (code, said["saved"], said["failed"], said["new"]) == (0, 3, 0, 1)
    assert server.times(f"{TOPICS}/a/stats") == 0


def test_a_topic_that_is_deleted_meanwhile(server: AdminServer, snapshot: Any, tmp_path: Path) -> None:
    server.holds("a", "b")
    del server.answers[f"{TOPICS}/b/stats"]  # the other two documents came still
    code, said, _ = snapshot()
    assert (code, said["saved"], said["gone"]) == (0, 1, 1)
    assert set(read_cluster_state(tmp_path / "s", {}).topics) == {"persistent://lab/s/a"}


def test_a_file_that_someone_deleted_is_saved_again(server: AdminServer, snapshot: Any, tmp_path: Path) -> None:
    server.holds("a", "b")
    snapshot()
    (tmp_path / "s" / "lab__s__a.stats.json").unlink()
    code, said, _ = snapshot()
    assert (code, said["new"]) == (0, 1)
    assert (tmp_path / "s" / "lab__s__a.stats.json").is_file()


def test_a_torn_index_costs_one_topic(server: AdminServer, snapshot: Any, tmp_path: Path) -> None:
    server.holds("a", "b", "c")
    snapshot("--parallel", "1")
    index = tmp_path / "s" / INDEX_NAME
    lines = index.read_bytes().splitlines(keepends=True)
    index.write_bytes(b"".join(lines[:3]) + lines[3][:-5])
    assert snapshot()[1]["new"] == 1
    assert snapshot()[0] == 99


def test_a_kill_before_anything_was_saved(server: AdminServer, snapshot: Any, tmp_path: Path) -> None:
    server.holds("a")
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / INDEX_NAME).write_bytes(b'{"version": 1, "adm')
    assert snapshot()[0] == 0
    assert snapshot()[0] == 99


def test_a_killed_snapshot_goes_on(server: AdminServer, snapshot: Any, tmp_path: Path) -> None:
    names = [f"t{n:03}" for n in range(60)]
    server.holds(*names)
    for name in names:
        body = server.answers[f"{TOPICS}/{name}/stats"]
        server.answers[f"{TOPICS}/{name}/stats"] = lambda _, body=body: time.sleep(0.02) or body
    out = tmp_path / "s"
    program = [sys.executable, "-m", "pulsar_backlog.cli", "snapshot", "--admin-url", server.url, "--out", str(out)]
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": f"{root / 'lib'}:{root}"}
    with subprocess.Popen(program, env=environment, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and _lines(out / INDEX_NAME) < 10:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    done = _lines(out / INDEX_NAME) - 1
    assert 9 <= done < 60
    code, said, _ = snapshot()
    assert (code, said["saved"]) == (0, 60)
    assert said["new"] <= 60 - done + 1  # a line that the kill cut short
    state = read_cluster_state(out, {})
    assert (len(state.topics), state.findings) == (60, ())


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def test_another_snapshot_is_not_mixed_in(server: AdminServer, snapshot: Any) -> None:
    server.holds("a", "b")
    snapshot("--topic", "lab/s/a")
    code, _, said = snapshot()
    assert code == 2
    assert "holds a snapshot of ['lab/s/a']" in " ".join(said.split())


def test_other_files_are_not_taken_for_new(server: AdminServer, snapshot: Any, tmp_path: Path) -> None:
    server.holds("a")
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "old.stats.json").write_text("{}")
    code, _, said = snapshot()
    assert code == 2
    assert "holds other files" in said


def test_no_such_topic(server: AdminServer, snapshot: Any, tmp_path: Path) -> None:
    server.holds("a")
    code, _, said = snapshot("--topic", "lab/s/z*")
    assert code == 2
    assert "no topic on" in said
    assert not (tmp_path / "s").exists()


def test_a_role_that_sees_one_namespace(server: AdminServer, snapshot: Any) -> None:
    server.holds("a")
    for path in ("/admin/v2/tenants", "/admin/v2/namespaces/lab", "/admin/v2/namespaces/lab/s",
                 "/admin/v2/brokers/configuration/runtime", f"{TOPICS}/a/retention"):  # fmt: skip
        server.answers[path] = Answer(403, b"{}")
    assert snapshot()[0] == 4
    code, said, _ = snapshot("--topic", "lab/s/*")
    assert (code, said["saved"]) == (0, 1)
    assert len(said["unknown"]) == 2


def test_the_token_is_nowhere(server: AdminServer, snapshot: Any, tmp_path: Path) -> None:
    server.holds("a")
    (tmp_path / "token").write_text("hush-hush\n")
    server.answers[f"{TOPICS}/a/stats"] = Answer(401, b"no")
    _, said, err = snapshot("--token-file", str(tmp_path / "token"))
    assert {given for _, given in server.asked} == {"Bearer hush-hush"}
    assert "hush-hush" not in json.dumps(said) + err
    assert not any(b"hush-hush" in path.read_bytes() for path in (tmp_path / "s").iterdir())


def test_names_from_a_cluster_cannot_leave_the_folder(server: AdminServer, snapshot: Any, tmp_path: Path) -> None:
    server.holds("a")
    hostile = [
        "persistent://lab/s/../../../x",
        "persistent://../../etc/x",
        "non-persistent://lab/s/n",
        "x",
        "persistent://a/b",
    ]
    server.says(TOPICS, ["persistent://lab/s/a", *hostile])
    _, said, _ = snapshot()
    assert said["saved"] == 1
    assert {path.parent for path in tmp_path.rglob("*") if path.is_file()} == {tmp_path / "s"}


LOCAL = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=80).filter(
    lambda text: "/" not in text
)
SPACE = st.text("abAB_-=:.9", min_size=1, max_size=12)


@given(st.lists(st.tuples(SPACE, SPACE, LOCAL), max_size=20, unique=True))
def test_file_names_are_safe_different_and_name_their_topic(parts: list[tuple[str, str, str]]) -> None:
    topics = [f"persistent://{'/'.join(part)}" for part in parts]
    files = named_files(topics)
    stems = [file.stem for file in files]
    assert len({stem.casefold() for stem in stems}) == len(topics)
    assert all("/" not in stem and not stem.startswith(".") and len(stem.encode()) <= 220 for stem in stems)


def test_files_of_odd_names_are_read_as_their_topics(tmp_path: Path) -> None:
    topics = [
        "persistent://a__b/_c_/d__e.stats", "persistent://lab/s/Case", "persistent://lab/s/case",
        "persistent://t/cluster/ns/a b/c", "persistent://lab/s/" + "ü" * 90, "persistent://.t/s/x",
    ]  # fmt: skip
    files = named_files(topics)
    assert len({file.stem.casefold() for file in files}) == len(topics)  # `Case` and `case` are one file on some disks
    for file in files:
        for kind, body in (("stats", {"publishers": [], "subscriptions": {}}),):
            (tmp_path / f"{file.stem}.{kind}.json").write_bytes(file.wrapped(json.dumps(body).encode()))
    state = read_cluster_state(tmp_path, {})
    assert state.findings == ()
    assert set(state.topics) == set(topics)


def test_secrets_are_left_out() -> None:
    policies = {
        "s3ManagedLedgerOffloadCredentialSecret": "hidden", "nested": [{"gcsServiceAccountPrivateKey": "hidden"}],
        "managedLedgerOffloadBucket": "b",
    }  # fmt: skip
    assert without_secret_members(policies) == {"nested": [{}], "managedLedgerOffloadBucket": "b"}
