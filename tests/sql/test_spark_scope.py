"""A query on Spark reaches these tables and views, and nothing else: no file, program, network or other table."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.errors import UsageError
from pulsar_backlog.sql import views
from pulsar_backlog.sql.query import Engine
from pulsar_backlog.sql.spark_functions import REFUSED, allowed
from pulsar_backlog.sql.spark_scope import analysed, parsed, shut_off
from tests.small_tables import write_tables
from tests.sql.printed import printed

NEEDS_SPARK = True

ROOT = Path(__file__).parents[2]
ELSEWHERE = "and nothing else"
DEEP = 500
NO_QUERY = "answers one query"

ATTEMPTS = {
    # Names that are paths, with every reader that Spark and Delta bring, wherever a relation can stand.
    "SELECT * FROM csv.`{file}`": ELSEWHERE,
    "SELECT * FROM text.`{file}`": ELSEWHERE,
    "SELECT * FROM json.`{file}`": ELSEWHERE,
    "SELECT * FROM xml.`{file}`": ELSEWHERE,
    "SELECT * FROM orc.`{file}`": ELSEWHERE,
    "SELECT * FROM parquet.`{parquet}`": ELSEWHERE,
    "SELECT * FROM delta.`{delta}`": ELSEWHERE,
    "SELECT * FROM delta.`{delta}@v0`": ELSEWHERE,
    "SELECT * FROM binaryFile.`{folder}`": ELSEWHERE,
    "SELECT * FROM `org.apache.spark.sql.execution.datasources.text.TextFileFormat`.`{file}`": ELSEWHERE,
    "SELECT * FROM jdbc.`jdbc:derby:memory:x;create=true`": ELSEWHERE,
    "SELECT * FROM text.`http://127.0.0.1:{port}/x`": ELSEWHERE,
    "SELECT * FROM csv.`s3a://bucket/x`": ELSEWHERE,
    "SELECT * FROM spark_catalog.csv.`{file}`": ELSEWHERE,
    "TABLE csv.`{file}`": ELSEWHERE,
    "FROM csv.`{file}` |> SELECT *": ELSEWHERE,
    "SELECT (SELECT max(_c0) FROM csv.`{file}`)": ELSEWHERE,
    "SELECT 1 WHERE EXISTS (SELECT * FROM csv.`{file}`)": ELSEWHERE,
    "SELECT code FROM findings WHERE code IN (SELECT value FROM text.`{file}`)": ELSEWHERE,
    "SELECT code FROM findings ORDER BY (SELECT max(value) FROM text.`{file}`)": ELSEWHERE,
    "WITH f AS (SELECT * FROM csv.`{file}`) SELECT * FROM f": ELSEWHERE,
    "WITH f AS (SELECT 1), g AS (SELECT * FROM csv.`{file}`) SELECT * FROM f": ELSEWHERE,
    "SELECT * FROM findings, LATERAL (SELECT * FROM text.`{file}`)": ELSEWHERE,
    "SELECT * FROM findings UNION ALL SELECT * FROM csv.`{file}`": ELSEWHERE,
    "SELECT * FROM explode(TABLE(csv.`{file}`))": ELSEWHERE,
    "SELECT * FROM csv.`{file}` TABLESAMPLE (1 ROWS)": ELSEWHERE,
    "SELECT * FROM delta.`{delta}` VERSION AS OF 0": ELSEWHERE,
    "SELECT * FROM IDENTIFIER('csv.`{file}`')": ELSEWHERE,
    "SELECT * FROM IDENTIFIER('cs' || 'v.`{file}`')": ELSEWHERE,
    "SELECT transform(array(1), x -> (SELECT max(value) FROM text.`{file}`))": ELSEWHERE,
    "SELECT sum(1) OVER w FROM findings WINDOW w AS (ORDER BY (SELECT max(value) FROM text.`{file}`))": ELSEWHERE,
    # Tables of the session's catalog and of others.
    "SELECT * FROM default.secrets": ELSEWHERE,
    "SELECT * FROM spark_catalog.default.secrets": ELSEWHERE,
    "SELECT * FROM global_temp.secrets": ELSEWHERE,
    "SELECT * FROM secrets": "there is no table or view secrets",
    "SELECT * FROM `secrets`": "there is no table or view secrets",
    # A name of WITH is known where Spark knows it, not elsewhere: there it would be the catalog's.
    "SELECT * FROM (WITH secrets AS (SELECT 1) SELECT * FROM secrets), secrets": "no table or view secrets",
    "WITH a AS (SELECT * FROM secrets), secrets AS (SELECT 1) SELECT * FROM a": "no table or view secrets",
    "WITH secrets AS (SELECT * FROM secrets) SELECT * FROM secrets": "no table or view secrets",
    # Functions that run code, or read files.
    "SELECT reflect('java.nio.file.Files', 'createFile', '{made}')": "reflect is refused",
    "SELECT Reflect('java.lang.System', 'getenv', 'HOME')": "Reflect is refused",
    "SELECT `reflect`('java.lang.System', 'getProperty', 'user.home')": "reflect is refused",
    "SELECT system.builtin.reflect('java.lang.System', 'getProperty', 'user.home')": "reflect is refused",
    "SELECT builtin.reflect('java.lang.System', 'getProperty', 'user.home')": "reflect is refused",
    "SELECT java_method('java.lang.System', 'setProperty', 'touched', 'yes')": "java_method is refused",
    "SELECT try_reflect('java.lang.System', 'getProperty', 'user.home')": "try_reflect is refused",
    "SELECT IDENTIFIER('reflect')('java.lang.System', 'getProperty', 'user.home')": ELSEWHERE,
    "SELECT code FROM findings WHERE reflect('java.lang.System', 'exit', '0') = '1'": "reflect is refused",
    "SELECT code FROM findings GROUP BY code HAVING reflect('a', 'b') = ''": "reflect is refused",
    "SELECT transform(array('a'), x -> reflect('java.lang.System', 'getenv', x))": "reflect is refused",
    "SELECT sum(1) OVER w FROM findings WINDOW w AS (ORDER BY reflect('a', 'b'))": "reflect is refused",
    "SELECT sum(1) OVER (PARTITION BY reflect('a', 'b')) FROM findings": "reflect is refused",
    "VALUES (1, reflect('java.lang.System', 'getProperty', 'user.home'))": "reflect is refused",
    "SELECT * FROM range(reflect('java.lang.Integer', 'valueOf', '1'))": "reflect is refused",
    "SELECT * FROM VALUES (1), (2) AS t(a) PIVOT (max(reflect('a', 'b')) FOR a IN (1))": "reflect is refused",
    "SELECT * FROM findings LATERAL VIEW explode(array(reflect('a', 'b'))) t AS x": "reflect is refused",
    "SELECT * FROM findings LATERAL VIEW reflect('a', 'b') t AS x": "reflect is refused",
    "SELECT 1 LIMIT length(reflect('a', 'b'))": "reflect is refused",
    "SELECT CASE WHEN true THEN reflect('a', 'b') END": "reflect is refused",
    "SELECT array_sort(array(1, 2), (a, b) -> length(reflect('a', 'b')))": "reflect is refused",
    "SELECT listagg(reflect('a', 'b')) WITHIN GROUP (ORDER BY code) FROM findings": "reflect is refused",
    "SELECT count(*) FILTER (WHERE reflect('a', 'b') = '1') FROM findings": "reflect is refused",
    "SELECT from_xml('<a/>', 'a int', map('rowValidationXSDPath', '{file}'))": "from_xml is refused",
    "SELECT schema_of_xml('<a/>', map('rowValidationXSDPath', '{file}'))": "schema_of_xml is refused",
    "SELECT xpath_string('<!DOCTYPE a SYSTEM \"http://127.0.0.1:{port}/x\"><a>1</a>', '/a')": "xpath_string is refused",
    "SELECT from_avro(unhex('00'), '', map('avroSchemaUrl', '{file}'))": "from_avro is refused",
    "SELECT from_protobuf(unhex('00'), 'M', '{file}')": "from_protobuf is refused",
    "SELECT * FROM table_changes_by_path('{delta}', 0)": "table_changes_by_path is refused",
    "SELECT * FROM table_changes('delta.`{delta}`', 0)": "table_changes is refused",
    "SELECT * FROM python_worker_logs()": "python_worker_logs is refused",
    "SELECT * FROM read_files('{file}')": "there is no function read_files",
    "SELECT * FROM read_csv('{file}')": "there is no function read_csv",
    "SELECT default.evil('x')": "there is no function default.evil",
    "SELECT * FROM evil_udtf(TABLE(findings))": "there is no function evil_udtf",
    # Programs.
    "SELECT TRANSFORM(code) USING 'touch {made}' AS (x) FROM findings": ELSEWHERE,
    "FROM findings MAP code USING 'touch {made}' AS (x)": ELSEWHERE,
    "FROM (FROM findings SELECT TRANSFORM(code) USING 'touch {made}' AS (x)) SELECT x": ELSEWHERE,
    # Statements.
    "LOAD DATA LOCAL INPATH '{file}' INTO TABLE findings": NO_QUERY,
    "CREATE TABLE made USING csv LOCATION '{file}'": NO_QUERY,
    "CREATE TABLE made USING parquet LOCATION '{made}' AS SELECT 1": NO_QUERY,
    "CREATE TEMPORARY VIEW made USING csv OPTIONS (path '{file}')": NO_QUERY,
    "CREATE TEMPORARY VIEW made AS SELECT * FROM csv.`{file}`": NO_QUERY,
    "CREATE DATABASE made LOCATION '{made}'": NO_QUERY,
    "CREATE FUNCTION evil AS 'java.lang.Runtime'": NO_QUERY,
    "CREATE TEMPORARY FUNCTION evil() RETURNS INT RETURN 1": NO_QUERY,
    "INSERT INTO findings SELECT * FROM findings": NO_QUERY,
    "INSERT OVERWRITE DIRECTORY '{made}' USING csv SELECT 1": NO_QUERY,
    "INSERT OVERWRITE LOCAL DIRECTORY '{made}' SELECT 1": NO_QUERY,
    "INSERT INTO delta.`{delta}` SELECT 1": NO_QUERY,
    "FROM findings INSERT OVERWRITE DIRECTORY '{made}' USING csv SELECT code": NO_QUERY,
    "MERGE INTO findings USING findings AS f ON true WHEN MATCHED THEN DELETE": NO_QUERY,
    "UPDATE findings SET code = 'x'": NO_QUERY,
    "DELETE FROM delta.`{delta}`": NO_QUERY,
    "VACUUM '{delta}' RETAIN 0 HOURS": NO_QUERY,
    "OPTIMIZE '{delta}'": NO_QUERY,
    "CONVERT TO DELTA parquet.`{parquet}`": NO_QUERY,
    "RESTORE TABLE delta.`{delta}` TO VERSION AS OF 0": NO_QUERY,
    "SET spark.sql.runSQLOnFiles = true": NO_QUERY,
    "SET": NO_QUERY,
    "SET -v": NO_QUERY,
    "RESET": NO_QUERY,
    "DECLARE VARIABLE v INT DEFAULT 1": NO_QUERY,
    "SET VAR v = 1": NO_QUERY,
    "ADD JAR '{file}'": NO_QUERY,
    "ADD FILE '{file}'": NO_QUERY,
    "ADD ARCHIVE 'http://127.0.0.1:{port}/x.zip'": NO_QUERY,
    "LIST JAR": NO_QUERY,
    "CACHE TABLE made AS SELECT * FROM csv.`{file}`": NO_QUERY,
    "REFRESH '{file}'": NO_QUERY,
    "REFRESH TABLE findings": NO_QUERY,
    "ANALYZE TABLE findings COMPUTE STATISTICS": NO_QUERY,
    "DESCRIBE TABLE csv.`{file}`": "",
    "DESCRIBE QUERY SELECT * FROM csv.`{file}`": "",
    "DESCRIBE HISTORY delta.`{delta}`": "",
    "DESCRIBE DETAIL delta.`{delta}`": "",
    "DESCRIBE FUNCTION reflect": "",
    "EXPLAIN SELECT * FROM csv.`{file}`": NO_QUERY,
    "EXPLAIN EXTENDED SELECT * FROM findings": NO_QUERY,
    "SHOW FUNCTIONS": NO_QUERY,
    "SHOW DATABASES": NO_QUERY,
    "SHOW CATALOGS": NO_QUERY,
    "SHOW TBLPROPERTIES delta.`{delta}`": NO_QUERY,
    "SHOW CREATE TABLE delta.`{delta}`": NO_QUERY,
    "USE spark_catalog.default": NO_QUERY,
    "EXECUTE IMMEDIATE 'SELECT * FROM csv.`{file}`'": NO_QUERY,
    "CALL system.run('{file}')": NO_QUERY,
    "BEGIN SELECT * FROM csv.`{file}`; END": "",
    "DROP TABLE delta.`{delta}`": NO_QUERY,
    "SELECT 1; SELECT * FROM csv.`{file}`": "",
}  # fmt: skip
"""Queries, and words of the one sentence that refuses each; where there are none, Spark's own parser refuses it."""


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [{"code": "C01"}, {"code": "C02"}]
    return write_tables(tmp_path_factory.mktemp("scope") / "out", runs=[], findings=rows)


@pytest.fixture(scope="module", autouse=True)
def secrets(spark: SparkSession) -> Iterator[None]:
    """What others keep in the catalog of a cluster."""
    spark.sql("CREATE VIEW secrets AS SELECT 'canary' AS word")
    spark.sql("CREATE GLOBAL TEMPORARY VIEW secrets AS SELECT 'canary' AS word")
    yield
    spark.sql("DROP VIEW default.secrets")
    spark.catalog.dropGlobalTempView("secrets")


@pytest.fixture
def canary(tmp_path: Path) -> dict[str, str]:
    """Files that a query might reach."""
    (tmp_path / "folder").mkdir()
    file = tmp_path / "folder" / "canary"
    file.write_text("canary\n")
    elsewhere = write_tables(tmp_path / "elsewhere", findings=[{"code": "canary"}]) / "tables" / "findings"
    (parquet,) = elsewhere.glob("*.parquet")
    return {"file": str(file), "folder": str(file.parent), "delta": str(elsewhere), "parquet": str(parquet)}


@pytest.fixture
def visits() -> Iterator[tuple[int, list[object]]]:
    """A port on which someone listens, and who came."""
    came: list[object] = []
    with closing(socket.create_server(("127.0.0.1", 0))) as server:

        def listen() -> None:
            while True:
                try:
                    peer, _ = server.accept()
                except OSError:
                    return
                came.append(peer)
                peer.close()

        threading.Thread(target=listen, daemon=True).start()
        yield server.getsockname()[1], came
        server.shutdown(socket.SHUT_RDWR)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _forget_reads(paths: Iterable[Path]) -> None:
    for path in paths:
        os.utime(path, (1, path.stat().st_mtime))


def _were_read(paths: Iterable[Path]) -> list[Path]:
    return [path for path in paths if path.stat().st_atime != 1]


def ask(out: Path, query: str, engine: Engine = "spark") -> str:
    return printed(out, query, engine)


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_what_reaches_further_is_refused_in_one_sentence_and_touches_nothing(
    spark: SparkSession,
    out: Path,
    canary: dict[str, str],
    visits: tuple[int, list[object]],
    tmp_path: Path,
    attempt: str,
) -> None:
    port, came = visits
    before = {path: path.read_bytes() for path in _files(tmp_path)}
    _forget_reads(before)
    with pytest.raises(UsageError) as caught:
        ask(out, attempt.format(**canary, made=tmp_path / "made", port=port))
    (sentence,) = str(caught.value).splitlines()
    assert ATTEMPTS[attempt] in sentence
    assert "JVM" not in sentence
    assert not _were_read(before)
    assert not came
    assert {path: path.read_bytes() for path in _files(tmp_path)} == before
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    assert jvm.java.lang.System.getProperty("touched") is None


def test_a_file_that_is_read_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("word")
    _forget_reads([file])
    assert not _were_read([file])
    file.read_text()
    assert _were_read([file]), "this disk keeps no times of access: the tests above need one that does"


ANSWERED = {
    "SELECT '${env:HOME} ${system:user.home} ${spark.app.name}'": "${env:HOME} ${system:user.home} ${spark.app.name}",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT max(n) FROM r": "3",
    "WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS y FROM A) SELECT y FROM b": "2",
    "WITH a AS (WITH findings AS (SELECT 7 AS x) SELECT x FROM findings) SELECT max(x) FROM a": "7",
    "SELECT count(*) FROM (WITH a AS (SELECT 1) SELECT * FROM a) CROSS JOIN Findings": "2",
    "SELECT count(*) FROM findings AS f, findings AS g, (SELECT * FROM findings), range(2), VALUES (1), (2)": "32",
    "SELECT count(DISTINCT code) FROM findings f WHERE EXISTS (SELECT 1 FROM findings g WHERE g.code = f.code)": "2",
    "SELECT (SELECT max(code) FROM findings WHERE code IN (SELECT code FROM findings)) AS newest": "C02",
    "SELECT count(*) FROM messages": "0",
    "FROM findings |> WHERE code = 'C02' |> SELECT code": "C02",
    "SELECT sum(n) OVER w FROM (SELECT 1 AS n) WINDOW w AS (ORDER BY abs(n))": "1",
    "SELECT max(x) FROM findings LATERAL VIEW explode(array(1, 2)) t AS x": "2",
    "SELECT count(*) FROM findings, LATERAL explode(sequence(1, 3)) AS t(x)": "6",
    "SELECT * FROM (SELECT code FROM findings) PIVOT (count(*) FOR code IN ('C01' AS a)) WHERE a = 1": "1",
    "SELECT max(v) FROM (SELECT 1 AS a, 2 AS b) UNPIVOT (v FOR name IN (a, b))": "2",
    "SELECT /*+ BROADCAST(f) */ count(*) FROM findings f JOIN findings g USING (code)": "2",
    "SELECT count(*) FROM findings TABLESAMPLE (100 PERCENT)": "2",
    "SELECT 7 % 4 * 2 - 1 + (5 & 3) + (5 | 3) + (5 ^ 3) + (~1) + 7 DIV 2 + (1 << 2)": "24",
    "SELECT 'a' || upper('b') || trim(BOTH 'x' FROM 'xcx') || overlay('abc' PLACING '_' FROM 2)": "aBca_c",
    "SELECT NOT (1 <=> 2) AND 1 BETWEEN 0 AND 2 AND 'ab' RLIKE '^a' AND 'x' ILIKE ANY ('X')": "true",
    "SELECT extract(YEAR FROM DATE'2026-11-24') + date_diff(DAY, DATE'2026-11-23', DATE'2026-11-24')": "2027",
    "SELECT from_json('{\"a\": [1, 2]}', 'a array<int>').a[1]": "2",
    "SELECT aggregate(filter(array(1, 2, 3), x -> x > 1), 0, (s, x) -> s + x)": "5",
    "SELECT CAST(parse_json('{\"a\": 3}'):a AS int)": "3",
    "SELECT count_if(current_timestamp() > TIMESTAMP'2020-01-01 00:00:00' AND current_date <= current_date())": "1",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM VALUES (1), (3) AS t(x)": "2.0",
}  # fmt: skip


@pytest.mark.parametrize("query", ANSWERED)
def test_what_reaches_no_further_is_answered(out: Path, query: str) -> None:
    assert ask(out, query).splitlines()[1:] == [ANSWERED[query]]


def test_a_deep_query_is_walked_to_its_end(out: Path) -> None:
    assert ask(out, f"SELECT {' + '.join(['1'] * DEEP)} AS n").splitlines()[1:] == [str(DEEP)]
    with pytest.raises(UsageError, match="reflect is refused"):
        ask(out, f"SELECT reflect('a', 'b'){' || 1' * DEEP}")


def test_every_function_of_this_spark_was_looked_at(spark: SparkSession) -> None:
    known = {row.function for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    beside_delta = {"table_changes", "table_changes_by_path"}  # not listed there
    named = {name for name in known if name[0].isalpha()}  # the others are operators
    assert named - allowed() - set(REFUSED) == set(), "read what they do: then spark_functions has a place for them"
    assert (allowed() | set(REFUSED)) - named == beside_delta
    assert not allowed() & set(REFUSED)


@pytest.mark.parametrize(
    ("engine", "view"),
    [
        ("spark", "SELECT * FROM csv.`{file}`"),
        ("spark", "SELECT reflect('java.nio.file.Files', 'readString', '{file}') AS x FROM findings"),
        ("spark", "SELECT * FROM secrets"),
        ("spark", "INSERT OVERWRITE DIRECTORY '{made}' USING csv SELECT 1"),
        ("duckdb", "SELECT * FROM read_csv('{file}')"),
        ("duckdb", "SELECT 1 AS x; COPY (SELECT 1) TO '{made}'"),
        ("duckdb", "SELECT * FROM enable_logging(storage = 'file', storage_path = '{made}')"),
    ],
)
def test_a_view_that_someone_adds_reaches_no_further(
    out: Path, canary: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Engine, view: str
) -> None:
    home = tmp_path / "home"
    shutil.copytree(ROOT / "conf" / "sql", home / "conf" / "sql")
    (home / "conf" / "sql" / "mine.sql").write_text(view.format(**canary, made=tmp_path / "made"))
    monkeypatch.setattr(views, "home", lambda: home)
    _forget_reads([Path(canary["file"])])
    with pytest.raises(UsageError, match=r"^the view conf/sql/mine\.sql: .+"):
        ask(out, "SELECT * FROM mine", engine)
    assert not _were_read([Path(canary["file"])])
    assert not (tmp_path / "made").exists()


def test_the_analysed_query_is_looked_at_too(spark: SparkSession, canary: dict[str, str]) -> None:
    apart = shut_off(spark)
    ours, theirs = apart.createDataFrame([(1,)], "n int"), apart.read.text(canary["file"])
    ours.createOrReplaceTempView("findings")
    theirs.createOrReplaceTempView("runs")
    query = "SELECT n FROM findings WHERE EXISTS (SELECT * FROM runs)"
    plan = parsed(apart, query, {"findings", "runs"})
    assert analysed(apart, plan, [ours, theirs]).columns == ["n"]
    with pytest.raises(UsageError, match=ELSEWHERE):
        analysed(apart, plan, [ours])
