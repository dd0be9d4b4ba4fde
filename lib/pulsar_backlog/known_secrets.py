"""The secrets that this process was given, so that no text of others brings them back.

A server may quote the `Authorization` header in its error, a store the access key it does not know, a log anything.
Whoever reads a secret (a token, AWS keys, a private key) remembers it here; what others say is then told without it.
"""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import quote

MARK = "***"
"""Stands where a secret stood."""

MIN_SECRET_CHARS = 8
"""Shorter ones are words, such as the access key `test`: text without them could not be read."""

PIECE_CHARS = 16
"""A piece of a secret counts from this length on: proxies cut off what they quote."""

_NAMES = re.compile(r"(TOKEN|SECRET|PASSWORD|CONNECTION_STRING|KEY(_ID)?)$")
"""How variables that hold secrets end; those that name a file end in `_FILE` or `_CREDENTIALS`."""

_secrets: set[str] = set()
"""Each secret in each form."""

_pieces: set[str] = set()
"""Every part of a form that is `PIECE_CHARS` long."""


def remember_secret(secret: str | None) -> None:
    """Know a secret from now on, as texts quote it: plain, percent-encoded, in JSON, in HTML, in base64."""
    if secret is None or len(secret.strip()) < MIN_SECRET_CHARS:
        return
    text = secret.strip()
    in_json = json.dumps(text)[1:-1]
    forms = {
        text, quote(text), quote(text, safe=""), html.escape(text), in_json, in_json.replace("/", r"\/"),
        in_json.replace("=", r"\u003d"), b64encode(text.encode(errors="surrogateescape")).decode().rstrip("="),
    }  # fmt: skip
    _secrets.update(forms)
    _pieces.update(form[i : i + PIECE_CHARS] for form in forms for i in range(len(form) - PIECE_CHARS + 1))


def remember_secrets(*secrets: str | None) -> None:
    """Know several."""
    for secret in secrets:
        remember_secret(secret)


def remember_environment(environment: Mapping[str, str]) -> None:
    """Know the secrets that variables hold, by the names of the variables."""
    for name, value in environment.items():
        if _NAMES.search(name.upper()):
            remember_secret(value)


def without_secrets(text: str) -> str:
    """The text with `***` in place of every known secret, and of every long enough piece of one."""
    for form in sorted(_secrets, key=len, reverse=True):
        text = text.replace(form, MARK)
    return _without_pieces(text) if _pieces else text


def content_without_secrets(content: bytes) -> bytes:
    """A document with `***` in place of every known secret; JSON stays JSON. Of pieces nothing is known here."""
    for form in sorted(_secrets, key=len, reverse=True):
        content = content.replace(form.encode(errors="surrogateescape"), MARK.encode())
    return content


def _without_pieces(text: str) -> str:
    pieces: list[str] = []
    at = begin = 0
    while at <= len(text) - PIECE_CHARS:
        if text[at : at + PIECE_CHARS] not in _pieces:
            at += 1
            continue
        pieces += (text[begin:at], MARK)
        while text[at : at + PIECE_CHARS] in _pieces:
            at += 1
        begin = at = at + PIECE_CHARS - 1
    return "".join(pieces) + text[begin:]
