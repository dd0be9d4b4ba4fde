"""Which pairs of a source and a place of results are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pulsar_backlog.errors import UsageError
from pulsar_backlog.runs.apart import RESULTS, check_apart


def is_refused(source: str | Path, place: str | Path) -> bool:
    try:
        check_apart(str(source), str(place), "--to")
    except UsageError as error:
        assert "choose another --to" in str(error)
        return True
    return False


@pytest.mark.parametrize(
    ("source", "place", "refused"),
    [
        ("s3://ledgers", "s3a://ledgers", True),
        ("s3://ledgers", "s3a://ledgers/audits", True),
        ("s3://ledgers/eu/", "s3a://ledgers/eu", True),
        ("s3://ledgers/eu", "s3a://ledgers//eu//audit/", True),
        ("s3://ledgers/eu", "s3a://ledgers/us/../eu/audit", True),
        ("s3://ledgers/eu", "s3a://ledgers/eu-audits", False),  # begins alike
        ("s3://ledgers/eu", "s3a://ledgers", False),  # results lie beside it
        ("s3://ledgers/tables/x", "s3a://ledgers", True),  # where results lie
        ("s3://ledgers/audit/report", "s3a://ledgers/audit", True),
        ("s3://ledgers", "s3a://audits", False),
        ("s3://ledgers", "gs://ledgers", False),
        ("gs://ledgers/a", "gs://ledgers/a/b", True),
        ("abfss://c@one.dfs.core.windows.net/a", "abfss://c@one.dfs.core.windows.net/a/b", True),
        ("abfss://c@one.dfs.core.windows.net/a", "abfss://c@two.dfs.core.windows.net/a/b", False),
        ("az://c/a", "abfss://c@one.dfs.core.windows.net/a/b", True),  # the account may be that one
        ("az://c/a", "abfss://d@one.dfs.core.windows.net/a/b", False),
        ("pulsar://broker:6650", "s3a://audits", False),
        ("pulsar://broker:6650", "/tmp/audit", False),
        ("/data/ledgers", "s3a://ledgers", False),
    ],
)
def test_addresses(source: str, place: str, refused: bool) -> None:
    assert is_refused(source, place) == refused


def test_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, link = tmp_path / "source", tmp_path / "link"
    (source / "deep").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    link.symlink_to(source)
    refused = (
        source,
        source / "deep",
        source / "deep" / "not" / "there",
        link,
        link / "audit",
        tmp_path / "other" / ".." / "source" / "audit",
        f"file://{source}/audit",
    )
    assert [place for place in refused if not is_refused(source, place)] == []
    assert is_refused(link, source / "audit")
    assert is_refused(f"file://{source}", source / "audit")
    monkeypatch.chdir(source)
    assert is_refused(source, "audit")
    for place in (tmp_path / "other", tmp_path / "source-audit", tmp_path):  # in the last, results lie beside it
        assert not is_refused(source, place), place


@pytest.mark.parametrize("name", RESULTS)
def test_a_source_among_results(tmp_path: Path, name: str) -> None:
    (tmp_path / name / "ledgers").mkdir(parents=True)
    assert is_refused(tmp_path / name, tmp_path)
    assert is_refused(tmp_path / name / "ledgers", tmp_path)


def test_a_link_that_leads_results_into_the_source(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit" / "tables").symlink_to(tmp_path / "source")
    with pytest.raises(UsageError, match="audit/tables is the source"):
        check_apart(str(tmp_path / "source"), str(tmp_path / "audit"))


def test_bookies(tmp_path: Path) -> None:
    for bookie in ("bookie-1", "bookie-2"):
        (tmp_path / bookie / "current").mkdir(parents=True)
    source = f"bookies://{tmp_path}/bookie-*"
    assert is_refused(source, tmp_path / "bookie-2" / "audit")
    assert not is_refused(source, tmp_path / "audit")
