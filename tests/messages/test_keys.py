"""Keys from a file, a folder or a command; mistakes are sentences that hold no key."""

from __future__ import annotations

import json
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pulsar_backlog.errors import UsageError
from pulsar_backlog.messages.keys import KeySource
from tests.messages.stored import EXPORT

KEYS = EXPORT / "keys"


def test_a_folder_gives_all_its_private_keys(tmp_path: Path) -> None:
    assert len(KeySource(str(KEYS)).ring()) == 4
    (tmp_path / "notes.txt").write_text("no key")
    (tmp_path / "labkey.pem").write_bytes((KEYS / "narrow.pem").read_bytes())
    assert len(KeySource(str(tmp_path)).ring()) == 1


def test_a_file_gives_its_key() -> None:
    assert len(KeySource(str(KEYS / "wide.pem")).ring()) == 1


def test_a_command_gives_pem_or_named_keys() -> None:
    cat = f"{sys.executable} -c {shlex.quote('import sys; print(open(sys.argv[1]).read())')} {KEYS / 'narrow.pem'}"
    named = json.dumps({"labkey": (KEYS / "wide.pem").read_text()})
    write = f"{sys.executable} -c {shlex.quote(f'print({named!r})')}"
    assert len(KeySource(command=cat).ring()) == 1
    assert KeySource(command=write).ring().fingerprint() == KeySource(str(KEYS / "wide.pem")).ring().fingerprint()


def test_no_shell_is_between() -> None:
    with pytest.raises(UsageError):
        KeySource(command=f"cat {KEYS / 'narrow.pem'}; echo").ring()


@pytest.mark.parametrize(
    "source",
    [
        KeySource("/nowhere/at/all"),
        KeySource(str(EXPORT / "expected")),  # files, none of them a key
        KeySource(command="/nowhere/at/all"),
        KeySource(command="false"),
        KeySource(command="echo {broken"),
        KeySource(command="true"),
    ],
    ids=["no place", "no key", "no command", "fails", "no JSON", "nothing"],
)
def test_what_gives_no_key_is_a_mistake(source: KeySource) -> None:
    with pytest.raises(UsageError):
        source.ring()


def test_a_damaged_key_is_named_and_not_shown(tmp_path: Path) -> None:
    text = (KEYS / "test-only-priv.pem").read_text().replace("M", "N")
    (tmp_path / "labkey.pem").write_text(text)
    with pytest.raises(UsageError, match="labkey") as caught:
        KeySource(str(tmp_path)).ring()
    assert text[40:60] not in str(caught.value)


def test_no_key_at_all_is_no_mistake() -> None:
    assert len(KeySource().ring()) == 0


def test_threads_run_a_command_once(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    text = (KEYS / "wide.pem").read_text()
    code = f"import time; open({str(runs)!r}, 'a').write('.'); time.sleep(0.2); print({text!r})"
    source = KeySource(command=f"{sys.executable} -c {shlex.quote(code)}")
    with ThreadPoolExecutor(3) as pool:
        rings = [*pool.map(lambda _: source.ring(), range(3))]
    assert len({id(one) for one in rings}) == 1
    assert runs.read_text() == "."
