"""States, flags and roles have a finding where they need one, and a paragraph in docs/verdicts.md."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from pulsar_backlog.chunks.rows import ChunkRole, Flag, Publication
from pulsar_backlog.chunks.verdict_findings import FLAG_CODES, STATE_CODES
from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.tables import chunked_messages, chunks
from pulsar_backlog.terms import Role, State, Sureness

DOCS = Path(__file__).parents[2] / "docs" / "verdicts.md"


def test_every_state_but_whole_and_every_flag_has_a_finding() -> None:
    assert set(STATE_CODES) == set(get_args(State)) - {"whole"}
    assert set(FLAG_CODES) == set(get_args(Flag))
    assert {*STATE_CODES.values(), *FLAG_CODES.values()} <= set(CATALOGUE)


def test_findings_are_named_after_what_they_stand_for() -> None:
    renamed = {
        "malformed": "malformed_chunk",
        "overlap": "overlapping_chunks",
        "mixed_with_another_publication": "mixed_content",
        "corrupt_copy": "corrupt_chunk",
    }
    for verdict, code in {**STATE_CODES, **FLAG_CODES}.items():
        assert CATALOGUE[code].name == renamed.get(verdict, verdict)


def test_every_word_is_explained() -> None:
    text = DOCS.read_text("utf-8")
    for word in (*get_args(State), *get_args(Flag), *get_args(Role), *get_args(Sureness)):
        assert f"`{word}`" in text, word


def test_publications_and_roles_carry_the_columns_of_their_tables() -> None:
    derived = {"cluster", "topic", "publish_time"}
    assert {field.name for field in fields(Publication)} == set(chunked_messages.TABLE.column_names()) - derived
    assert {field.name for field in fields(ChunkRole)} == set(chunks.TABLE.column_names()) - derived


@pytest.mark.parametrize("code", ["C02", "C03", "C10", "C21"])
def test_export_is_advised_of_what_an_export_gives(code: str) -> None:
    """These are told of messages that lack a chunk, or a sound copy of one, too."""
    assert "Export" in CATALOGUE[code].remedy
    assert "`rebuildable`" in CATALOGUE[code].remedy
    assert "The whole message" not in CATALOGUE[code].remedy


@pytest.mark.parametrize("code", ["C06", "C08", "C09", "C16"])
def test_what_a_finding_may_be_unsure_of_is_not_told_as_lost(code: str) -> None:
    """Whether it is lost says the sureness of each finding."""
    assert " is lost" not in CATALOGUE[code].meaning.replace("if so, the message is lost", "")
