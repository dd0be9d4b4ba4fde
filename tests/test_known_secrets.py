"""What was given in secret does not come back in the words of others."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog import foreign_text, known_secrets
from pulsar_backlog.errors import SourceError
from pulsar_backlog.foreign_text import visible
from pulsar_backlog.known_secrets import (
    content_without_secrets,
    remember_environment,
    remember_secret,
    without_secrets,
)

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZG1pbiIsImF1ZCI6ImVhc3QifQ.kd93-Jq0Zb_7Ls8Vwqz1XnT4eUoPy2mH5cRaG6iBfDk"
AWS = "wJalrXUtnFEMI/K7MDENG+bPxRfiCY<&>EXAMPLEKEY=="


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test knows its own secrets only."""
    monkeypatch.setattr(known_secrets, "_secrets", set())
    monkeypatch.setattr(known_secrets, "_pieces", set())
    yield


@pytest.mark.parametrize("secret", [JWT, AWS, "p4ssword"])
@pytest.mark.parametrize(
    "form",
    [
        str, quote, lambda s: quote(s, safe=""), html.escape, lambda s: json.dumps(s)[1:-1],
        lambda s: json.dumps(s)[1:-1].replace("/", r"\/"), lambda s: s.replace("=", r"\u003d"),
        lambda s: base64.b64encode(s.encode()).decode(),
    ],
)  # fmt: skip
def test_it_is_taken_out_as_texts_quote_it(secret: str, form: object) -> None:
    remember_secret(f" {secret}\n")  # as it stands in a file
    quoted = form(secret).rstrip("=")  # type: ignore[operator]
    text = f"401: 'Bearer {quoted}' again {quoted}: no"
    assert without_secrets(text) == "401: 'Bearer ***' again ***: no"
    assert quoted not in visible(text)
    assert secret not in visible(text)
    assert secret not in str(SourceError("s3://b", "failed", text))


@pytest.mark.parametrize("place", [0, 5, 140, 149, 290, 2390, 2400, 50_000])
@pytest.mark.parametrize("from_the_end", [False, True])
def test_a_long_text_shows_none_at_either_end(place: int, from_the_end: bool) -> None:
    remember_secret(JWT)
    parts = ["a" * place, JWT, "b" * (100_000 - place)]
    shown = visible("".join(parts[::-1] if from_the_end else parts))
    assert not any(JWT[i : i + 16] in shown for i in range(len(JWT) - 15))
    assert ("***" in shown) == (place < 149)
    assert len(shown) < 400


def test_of_a_text_of_megabytes_only_the_ends_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk uuid may be as long as a message, and a report shows it in many places."""
    seen = []
    monkeypatch.setattr(foreign_text, "without_secrets", lambda text: seen.append(len(text)) or text)
    assert visible("a" * 5_000_000, 100) == f"{'a' * 50} [... 4,999,900 characters ...] {'a' * 50}"
    assert seen == [800, 800]


def test_a_text_of_nothing_else_says_how_much_it_hides() -> None:
    remember_secret(JWT)
    shown = visible(JWT * 200)
    assert shown.startswith("***")
    assert "characters ...]" in shown
    assert not any(JWT[i : i + 16] in shown for i in range(len(JWT) - 15))


def test_a_document_stays_a_document() -> None:
    remember_secret(JWT)
    assert json.loads(content_without_secrets(json.dumps({"echo": [f"Bearer {JWT}"], "ü": 1}).encode())) == {
        "echo": ["Bearer ***"],
        "ü": 1,
    }


@given(st.integers(0, len(JWT) - 16), st.integers(16, len(JWT)))
def test_a_piece_of_it_is_taken_out_too(start: int, length: int) -> None:
    remember_secret(JWT)
    piece = JWT[start : start + length]
    assert without_secrets(f"Authorization: {piece} (cut)") == "Authorization: *** (cut)"


def test_what_is_short_or_no_secret_stays() -> None:
    remember_secret("test")
    remember_secret("")
    remember_secret(None)
    assert without_secrets("a test of nothing") == "a test of nothing"
    remember_secret(JWT)
    assert without_secrets(f"{JWT[:15]} and nothing else") == f"{JWT[:15]} and nothing else"


@pytest.mark.parametrize(
    "name", ["AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "AZURE_STORAGE_KEY", "db_password"]
)
def test_variables_that_hold_secrets(name: str) -> None:
    remember_environment(
        {name: "hidden-value", "HOME": "/home/someone", "GOOGLE_APPLICATION_CREDENTIALS": "/run/token-file"}
    )
    assert (
        without_secrets("hidden-value in /home/someone by /run/token-file") == "*** in /home/someone by /run/token-file"
    )


def test_a_private_key_of_many_lines() -> None:
    lines = [base64.b64encode(bytes([n] * 48)).decode() for n in range(20)]
    pem = "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"])
    remember_secret(pem)
    assert lines[7] not in without_secrets(f"stderr of the command: {lines[7]}")
    assert lines[7] not in without_secrets(json.dumps({"key": pem}))
