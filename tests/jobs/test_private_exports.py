"""What an export leaves is its owner's alone, under the umask that most systems have."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.auditing import Audited, copy_ledgers, run_audit, run_job_of

NEEDS_SPARK = True

LEDGERS = (24, 7)


@pytest.fixture(scope="module")
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture(scope="module")
def audited(spark: object, usual_umask: None, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    place = tmp_path_factory.mktemp("private")
    return run_audit(copy_ledgers(place / "objects", LEDGERS), place / "out", cluster="p")


def open_to_others(folder: Path) -> list[str]:
    """Files below a folder that somebody else could read, going in by folders that let them."""
    found = []
    for path in sorted(folder.iterdir()):
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            found += open_to_others(path) if mode & 0o011 else []
        elif mode & 0o044:
            found.append(str(path))
    return found


@pytest.mark.parametrize("form", ["delta", "parquet", "files"])
def test_nothing_of_an_export_is_open_to_others(form: str, audited: Audited, tmp_path: Path) -> None:
    to = tmp_path / "to"
    to.mkdir(mode=0o755)
    to.chmod(0o755)
    for limit in (1000, 2000):  # the second one replaces the first
        code = run_job_of(
            "export", "export_messages", audited.source, audited.out, cluster="p", to=to, format=form, fail_on="never",
            inline_limit_bytes=limit,
        ).exit_code  # fmt: skip
        assert code == 0
        files = [path for path in to.rglob("*") if path.is_file()]
        assert len(files) > 4
        assert open_to_others(to) == []
        payloads = [path for path in (to / "payloads").rglob("*") if path.is_file()]
        assert payloads
        assert {stat.S_IMODE(path.stat().st_mode) for path in payloads} == {0o600}


def test_a_folder_of_messages_that_was_open_is_closed(audited: Audited, tmp_path: Path) -> None:
    for name in ("payloads", "messages.parquet"):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(0o755)
    run_job_of("export", "export_messages", audited.source, audited.out, cluster="p", to=tmp_path, format="parquet",
               inline_limit_bytes=10)  # fmt: skip
    assert open_to_others(tmp_path) == []


def test_an_answer_in_a_file_is_private_too(audited: Audited, tmp_path: Path) -> None:
    from pulsar_backlog.sql.query import write_query

    for kind in ("csv", "json", "parquet"):
        path = tmp_path / f"answer.{kind}"
        path.write_text("there before")
        path.chmod(0o644)
        assert write_query(str(audited.out), "SELECT * FROM entries", kind, path)  # type: ignore[arg-type]
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
