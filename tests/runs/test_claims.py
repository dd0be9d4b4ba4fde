"""A folder that is written to: looked at before, and held by one process at a time, which may be killed."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import signal
import socket
from pathlib import Path

import pytest

from pulsar_backlog.errors import UsageError
from pulsar_backlog.runs import claims
from pulsar_backlog.runs.claims import MIN_FREE_BYTES, claimed
from pulsar_backlog.terms import LOCK_NAME
from tests.places import held_elsewhere, mounted, reached_by_all


def hold(folder: Path) -> None:
    """Take the folder and let it go."""
    with claimed(str(folder), "pulsar-backlog test"):
        pass


def test_the_folder_is_made_and_holds_nothing_else(tmp_path: Path) -> None:
    with claimed(str(tmp_path / "a" / "b"), "pulsar-backlog audit"):
        assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == [LOCK_NAME]


def test_a_second_process_is_told_who_holds_it_and_since_when(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path) as holder, pytest.raises(UsageError) as refused:
        hold(tmp_path)
    said = str(refused.value)
    assert re.fullmatch(
        rf"{re.escape(str(tmp_path))} is being written to by another run: pulsar-backlog audit, process {holder.pid} "
        rf"on {re.escape(socket.gethostname())}, since 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC: "
        r"wait until it ends, or choose another --out",
        said,
    )


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path) as holder:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        assert json.loads((tmp_path / LOCK_NAME).read_text())["pid"] == holder.pid  # what it left says so still
        hold(tmp_path)
    assert (tmp_path / LOCK_NAME).read_text() == ""


def test_a_job_holds_what_its_own_command_holds(tmp_path: Path) -> None:
    with claimed(str(tmp_path), "pulsar-backlog audit"):
        hold(tmp_path)
        (tmp_path / "link").symlink_to(tmp_path)
        hold(tmp_path / "link")
        assert json.loads((tmp_path / LOCK_NAME).read_text())["command"] == "pulsar-backlog audit"


def test_a_failure_lets_go(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), claimed(str(tmp_path), "pulsar-backlog audit"):
        raise ZeroDivisionError
    with held_elsewhere(tmp_path):
        pass


def test_whoever_cannot_be_read_is_another_process(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path), pytest.raises(UsageError, match="by another run: wait until it ends"):
        (tmp_path / LOCK_NAME).write_text("[1]")
        hold(tmp_path)


def test_a_bucket_is_not_held() -> None:
    with claimed("s3a://audits/eu-1", "pulsar-backlog audit"), claimed(None, "pulsar-backlog audit"):
        pass
    assert not Path("s3a:").exists()


@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_a_file_is_in_the_way(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match=rf"--out .*{below}.* {tmp_path}/file is a file"):
        hold(tmp_path / "file" / below)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_read_only_file_system(tmp_path: Path) -> None:
    with mounted(tmp_path / "m", "ro"), pytest.raises(UsageError, match=r"m/out: .* read-only file system.* --out"):
        hold(tmp_path / "m" / "out")


def test_a_part_that_is_read_only(tmp_path: Path) -> None:
    with (
        mounted(tmp_path / "tables" / "entries", "ro"),
        pytest.raises(UsageError, match=r"--out .*: .*/tables/entries .*read-only file system"),
    ):
        hold(tmp_path)


@pytest.mark.parametrize("owned", ["..", "", "tables", "tables/entries/_delta_log"])
def test_a_folder_of_another_user(tmp_path: Path, owned: str) -> None:
    """Such as what an audit by root left to the user who tries again."""
    if os.geteuid():
        pytest.skip("NOT TESTED: only root can make the folder of another user")
    reached_by_all(tmp_path)
    (tmp_path / "out" / "tables" / "entries" / "_delta_log").mkdir(parents=True)
    for path in ("", "tables", "tables/entries", "tables/entries/_delta_log"):
        (tmp_path / "out" / path).chmod(0o755 if path == owned else 0o777)
    if owned == "..":  # a folder in which nothing can even be looked for
        tmp_path.chmod(0o700)
    receiver, sender = os.pipe()
    if not (child := os.fork()):
        os.setgid(65534)
        os.setuid(65534)
        try:
            hold(tmp_path / "out")
        except UsageError as error:
            os.write(sender, str(error).encode())
        finally:
            os._exit(0)
    os.close(sender)
    os.waitpid(child, 0)
    with os.fdopen(receiver) as told:
        said = told.read()
    assert f"{tmp_path if owned == '..' else tmp_path / 'out' / owned} belongs to root" in said
    assert "choose another --out" in said


def test_a_disk_without_room(tmp_path: Path) -> None:
    with mounted(tmp_path / "m", "size=1m"), pytest.raises(UsageError, match=r"only 1 MB left.*16 MB"):
        hold(tmp_path / "m" / "out")
    with mounted(tmp_path / "m", f"size={MIN_FREE_BYTES + 2_000_000}"):
        hold(tmp_path / "m" / "out")


def test_a_full_disk(tmp_path: Path) -> None:
    with mounted(tmp_path / "m", "size=64k"):
        with (tmp_path / "m" / "rest").open("wb", buffering=0) as rest, pytest.raises(OSError, match="No space"):
            while rest.write(bytes(4096)):
                pass
        with pytest.raises(UsageError, match="disk"):
            hold(tmp_path / "m" / "out")


def test_a_file_system_without_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    hold(tmp_path)
    assert f"{tmp_path}: its file system has no locks" in capsys.readouterr().err
    assert not claims._claims
