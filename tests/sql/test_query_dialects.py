"""Queries and views in Spark's SQL, answered by DuckDB; DuckDB's own keeps its meaning."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from pulsar_backlog.config import home
from pulsar_backlog.errors import UsageError
from pulsar_backlog.sql import conf_queries, views
from pulsar_backlog.sql.query import run_query
from tests.auditing import Audited
from tests.blank_rows import NOON
from tests.small_tables import write_tables
from tests.sql.printed import printed

NEEDS_SPARK = True


@pytest.mark.parametrize(
    "query",
    [
        "SELECT `topic`, count_if(NOT rebuildable) AS lost FROM chunked_messages GROUP BY topic ORDER BY topic",
        "SELECT topic, flags[0] AS flag FROM chunked_messages WHERE size(flags) > 0 AND topic RLIKE 'brk' ORDER BY ALL",
        "SELECT topic, flag FROM chunked_messages LATERAL VIEW explode(flags) f AS flag ORDER BY topic, flag",
        "SELECT date_format(min(publish_time), 'yyyy-MM-dd HH:mm') AS first FROM entries",
        "SELECT e.topic, count(*) AS n FROM entries e LEFT SEMI JOIN chunks c ON e.topic <=> c.topic GROUP BY e.topic "
        "ORDER BY e.topic",
        "SELECT topic, transform(filter(manifest, c -> c.chunk_id > 0), c -> c.entry_id) AS later "
        "FROM chunked_messages WHERE rebuildable ORDER BY topic, chunk_uuid, publish_time_ms",
        "SELECT topic, array_sort(collect_set(state)) AS states, percentile(total_bytes, 0.5) AS half, "
        "named_struct('n', count(*)) AS s FROM chunked_messages GROUP BY topic ORDER BY topic",
        "SELECT split_part(topic, '/', 5) AS name, date_trunc('HOUR', max(publish_time)) AS hour, "
        "timestamp_millis(max(publish_time_ms)) AS last FROM entries GROUP BY 1 ORDER BY 1",
    ],
)
def test_queries_of_spark_have_equal_answers(bundled: Audited, query: str) -> None:
    answer = printed(bundled.out, query)
    assert answer.count("\n") > 1
    assert answer == printed(bundled.out, query, "spark")


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("SELECT log(100) AS v", "2.0"),  # Spark's is the natural one
        ("SELECT ['a', 'b'][1] AS v", "a"),  # Spark counts from 0
        ('SELECT count(*) AS "a b" FROM findings', "1"),  # a text, to Spark
        ("SELECT list(code ORDER BY code) AS v FROM findings", '["C01"]'),
        ("SELECT CAST(2.5 AS integer) AS v", "3"),
        ("FROM findings SELECT code", "C01"),
        ("SELECT code, explode([1]) AS v FROM findings", "C01\t1"),  # words of both
    ],
)
def test_what_duckdb_reads_means_what_it_means_to_duckdb(tmp_path: Path, query: str, answer: str) -> None:
    write_tables(tmp_path, runs=[], findings=[{"code": "C01"}])
    assert printed(tmp_path, query).splitlines()[1] == answer


@pytest.mark.parametrize(
    "query",
    [
        "SELECT log(100) AS v, CAST(2.5 AS int) AS i, array('a', 'b')[1] AS b, concat('a', NULL) AS n, "
        "dayofweek(now()) AS d",
        "SELECT split(topic, '/')[4] AS name, count(*) AS n FROM entries GROUP BY 1 ORDER BY 1",
        'SELECT "text" AS v, regexp_replace(code, "[A-Z]", "x") AS c FROM findings GROUP BY code ORDER BY c',
    ],
)
def test_with_sparks_dialect_all_means_what_spark_means(bundled: Audited, query: str) -> None:
    answers = []
    for engine in ("duckdb", "spark"):
        said = io.StringIO()
        run_query(str(bundled.out), query, Console(file=said, width=400), engine, dialect="spark")  # type: ignore[arg-type]
        answers.append(said.getvalue())
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("SELECT typeof(1)", "typeof of Spark; ask with --engine spark"),
        ("SELECT 1; SELECT 2", "it is not one query"),
        ("SELECT * FROM read_csv('/etc/passwd')", "readcsv"),
        ("SELECT cod FROM findings", "there is no column cod; nearest: code"),
        ("SELECT list(code) FROM findings", "list of Spark"),
    ],
)
def test_what_cannot_be_asked_in_sparks_dialect(tmp_path: Path, query: str, sentence: str) -> None:
    write_tables(tmp_path, runs=[], findings=[{"code": "C01"}])
    with pytest.raises(UsageError) as caught:
        run_query(str(tmp_path), query, Console(file=io.StringIO()), dialect="spark")
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("SELECT named_struct('a', ledger) FROM entries", "there is no column ledger; nearest: ledger_id"),
        ("SELECT `publish_tme` FROM entries", "there is no column publish_tme; nearest: publish_time"),
        ("SELECT `code` FROM fndings", "there is no table or view fndings; nearest: findings"),
        ("SELECT count_if(e.x) FROM entries AS f WHERE f.topic <=> 'a'", "no table by the name e"),
        ("SELECT publish_tme FROM entries", "there is no column publish_tme; nearest: publish_time"),
        ("SELECT typeof2(code) FROM findings", "typeof2"),
        ("SELECT code FROM findings WHERE (", "syntax error"),
        ("SELECT * FROM csv.`/etc/passwd`", "csv"),
        ("SELECT `x` FROM read_csv('/etc/passwd') AS t(x)", "Permission"),
        ("SELECT /*+ BROADCAST(t) */ `content` FROM read_text('/etc/passwd') AS t", "Permission"),
        ("SELECT `code` FROM findings; DROP VIEW findings", "sql answers one query"),
        ("INSERT OVERWRITE TABLE `findings` SELECT 1", "syntax error"),
    ],
)
def test_mistakes_in_words_of_spark(tmp_path: Path, query: str, sentence: str) -> None:
    write_tables(tmp_path, runs=[], findings=[{"code": "C01"}], entries=[{"publish_time": NOON}])
    with pytest.raises(UsageError) as caught:
        printed(tmp_path, query)
    (said,) = str(caught.value).splitlines()
    assert sentence in said


@pytest.fixture
def own_views(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of views of one's own, beside those of conf/."""
    folder = tmp_path / "home" / "conf"
    folder.mkdir(parents=True)
    (folder / "sql").mkdir()
    for path in (home() / "conf" / "sql").glob("*.sql"):
        (folder / "sql" / path.name).write_text(path.read_text())
    for module in (conf_queries, views):
        monkeypatch.setattr(module, "home", lambda: tmp_path / "home")
    return folder / "sql"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT `code`, flag[0] AS first FROM (SELECT code, collect_set(code) AS flag FROM findings GROUP BY ALL)",
        "SELECT code, list(code ORDER BY code)[1] AS first FROM findings GROUP BY code",  # DuckDB's alone
    ],
)
def test_views_of_ones_own(own_views: Path, tmp_path: Path, sql: str) -> None:
    (own_views / "mine.sql").write_text(f"-- Mine.\n{sql}\n")
    write_tables(tmp_path, runs=[], findings=[{"code": "C01"}])
    assert printed(tmp_path, "SELECT * FROM mine") == "code\tfirst\nC01\tC01\n"


def test_a_mistake_in_a_view_of_ones_own_is_told(own_views: Path, tmp_path: Path) -> None:
    (own_views / "mine.sql").write_text("-- Mine.\nSELECT `cod` FROM findings\n")
    write_tables(tmp_path, runs=[], findings=[{"code": "C01"}])
    with pytest.raises(UsageError, match=r"the view conf/sql/mine\.sql: .*cod"):
        printed(tmp_path, "SELECT * FROM mine")
