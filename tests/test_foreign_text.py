"""Text from topics is shown on one line, as what it is, and is one shell word where it stands in a command."""

from __future__ import annotations

import subprocess
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.foreign_text import shell_word, visible


@given(st.text(alphabet=st.characters(exclude_categories=[]), max_size=400))
def test_nothing_unseen_comes_out(text: str) -> None:
    shown = visible(text)
    assert len(shown) <= 340
    categories = {unicodedata.category(c) for c in shown if c != " "}
    assert not categories & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
    shown.encode()


@given(st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=300))
def test_plain_text_is_left_alone(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2Jb", r"a\x1b[2Jb"),
        ("two\nlines", r"two\x0alines"),
        ("del\x7f", r"del\x7f"),
        ("c1\x9b31m", r"c1\x9b31m"),
        ("\u202etxt", r"\u202etxt"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("no\u00a0break", r"no\xa0break"),
        ("\u3164", r"\u3164"),  # a letter by its category, drawn as nothing
        ("v\ufe0f", r"v\ufe0f"),
        ("\U000e0041tag", r"\U000e0041tag"),
        ("\udc80", r"\udc80"),
        ("ünï-✓", "ünï-✓"),
        ("שלום", "שלום"),
    ],
)
def test_each_kind_of_unseen_character_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_long_text_keeps_both_ends_and_says_how_much_is_hidden() -> None:
    assert visible("a" * 50 + "b" * 100 + "c" * 50, limit=100) == f"{'a' * 50} [... 100 characters ...] {'c' * 50}"
    assert visible("x" * 300) == "x" * 300
    assert visible("x" * 320) == "x" * 320  # what would stand for the middle is longer than that
    assert visible("x" * 340) == f"{'x' * 150} [... 40 characters ...] {'x' * 150}"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60))
def test_shell_reads_back_one_word(text: str) -> None:
    word = shell_word(text)
    run = subprocess.run(["bash", "-c", f"printf '%s|' {word}"], capture_output=True, check=True)
    assert run.stdout == text.encode() + b"|"
    assert visible(word, 10_000) == word
