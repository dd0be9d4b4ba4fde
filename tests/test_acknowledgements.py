"""Findings that somebody answers for until a day: what a file may say, and what an entry covers."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from pulsar_backlog.errors import UsageError
from pulsar_backlog.findings.acknowledgements import Acknowledgement, acknowledgements

ENTRY = "- {code: C06, subject: 'persistent://t/n/*', owner: me, reason: seen, until: 2026-11-24}\n"
DAY = date(2026, 11, 24)


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "known.yaml"
    path.write_text(text)
    return str(path)


def test_an_entry_covers_up_to_its_last_day(tmp_path: Path) -> None:
    path = written(tmp_path, ENTRY)
    assert [one.owner for one in acknowledgements(path, DAY)] == ["me"]
    assert acknowledgements(path, date(2026, 11, 25)) == ()
    assert acknowledgements(None, DAY) == ()
    assert acknowledgements(written(tmp_path, ""), DAY) == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- [", "not YAML"),
        ("a: 1\n", "a list of entries"),
        ("- {code: C06}\n", "entry 1, subject: Field required"),
        (ENTRY.replace("C06", "C666"), "entry 1, code: .*not the code of a finding"),
        (ENTRY.replace("2026-11-24", "soon"), "entry 1, until"),
        (ENTRY + "- {code: C06, subject: a, owner: b, reason: c, until: 2026-01-01, note: d}\n", "entry 2, note"),
    ],
)
def test_what_else_a_file_says_is_a_mistake(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=f"--known .*known.yaml.*{words}"):
        acknowledgements(written(tmp_path, text), DAY)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        acknowledgements(str(tmp_path / "none.yaml"), DAY)


@pytest.mark.parametrize(
    ("pattern", "subject", "topic", "covers"),
    [
        ("persistent://t/n/*", "ledger:5", "persistent://t/n/a", True),  # by topic
        ("ledger:?", "ledger:5", None, True),
        ("ledger:?", "ledger:55", None, False),
        ("100%", "100 and more", None, False),  # means itself
        ("a_c", "abc", None, False),
        ("a.c", "abc", None, False),
        ("*", "two\nlines", None, True),
    ],
)
def test_what_a_pattern_covers(pattern: str, subject: str, topic: str | None, covers: bool) -> None:
    one = Acknowledgement(code="C06", subject=pattern, owner="o", reason="r", until=DAY)
    assert one.covers("C06", subject, topic) == covers
    assert not one.covers("C08", subject, topic)


def test_a_pattern_of_sql_means_the_same() -> None:
    one = Acknowledgement(code="*", subject="50%_!*?", owner="o", reason="r", until=DAY)
    assert one.pattern == "50!%!_!!%_"
