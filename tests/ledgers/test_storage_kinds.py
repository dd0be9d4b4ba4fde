"""Traits of storage kinds: everything that names a kind in words is held to the table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from pulsar_backlog.ledgers import kinds
from pulsar_backlog.ledgers.storage_kinds import STORAGE_KINDS, Kind, traits_of

ROOT = Path(__file__).parents[2]


def test_every_kind_has_traits_and_a_walk() -> None:
    assert list(STORAGE_KINDS) == list(get_args(Kind)) == list(kinds._WALK)


@pytest.mark.parametrize("name", STORAGE_KINDS)
def test_only_what_an_offloader_wrote_may_be_deleted_by_its_owner(name: Kind) -> None:
    assert STORAGE_KINDS[name].is_offloaded == (not STORAGE_KINDS[name].deleted_by)


@pytest.mark.parametrize("name", ["upload", "of_a_newer_version", None])
def test_what_is_no_kind_has_no_traits(name: str | None) -> None:
    traits = traits_of(name)
    assert not (traits.is_offloaded or traits.is_spread or traits.is_segment or traits.deleted_by or traits.is_sized)


def test_nobody_asks_for_a_kind_by_its_name() -> None:
    asking = re.compile(rf"kind (?:[!=]=|in|not in) \(?[\"'](?:{'|'.join(STORAGE_KINDS)})[\"']")
    paths = [path for folder in ("jobs", "lib") for path in (ROOT / folder).rglob("*.py")]
    assert paths
    assert [str(path.relative_to(ROOT)) for path in paths if asking.search(path.read_text())] == []


def test_the_view_of_integrity_knows_which_kinds_are_spread_and_which_have_blocks() -> None:
    text = (ROOT / "conf/sql/integrity.sql").read_text()
    assert _kinds(text, "l.kind IN") == {frozenset(name for name, kind in STORAGE_KINDS.items() if kind.is_spread)}
    blocks = frozenset(name for name, kind in STORAGE_KINDS.items() if kind.has_equal_blocks or kind.is_segment)
    assert _kinds(text, " kind IN") == {blocks}


@pytest.mark.parametrize("path", ["conf/sql/integrity.sql", "conf/log/edges.sql"])
def test_queries_name_kinds_that_exist(path: str) -> None:
    names = re.findall(r"\bkind (?:=|<>) '(\w+)'", (ROOT / path).read_text())
    assert names
    assert set(names) <= set(STORAGE_KINDS)


def _kinds(text: str, before: str) -> set[frozenset[str]]:
    lists = re.findall(re.escape(before) + r" \(([^)]*)\)", text)
    return {frozenset(re.findall(r"\w+", one)) for one in lists}
