"""The Spark data source on the bundled backlog: rows of the Python API, each once, whatever is pushed down."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

import pulsar_backlog
from bench.generate import Spec, write_backlog
from pulsar_backlog.api.spark_source import (
    SMALL_TOPIC_BYTES,
    BacklogReader,
    PulsarBacklogSource,
    TopicPartition,
    UnitPartition,
)
from pulsar_backlog.ledgers.values import ScanUnit
from pulsar_backlog.scanning.packs import TASKS_PER_CORE
from tests.auditing import DATA, OBJECTS

NEEDS_SPARK = True

MAPFILES = DATA / "mapfiles"
COLUMNS = ("topic", "ledger_id", "entry_id", "batch_index", "state", "outcome", "payload_sha256", "num_chunks")


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    before = spark.conf.get("spark.sql.python.filterPushdown.enabled", "false")
    pulsar_backlog.register(spark)
    yield spark
    spark.conf.set("spark.sql.python.filterPushdown.enabled", str(before))


def read(session: SparkSession, source: Path = OBJECTS, **options: str) -> DataFrame:
    return session.read.format("pulsar-backlog").options(**options).load(str(source))


def rows(frame: DataFrame, *columns: str) -> list[dict[str, Any]]:
    return sorted((row.asDict() for row in frame.select(*columns or COLUMNS).collect()), key=str)


def of_api(source: Path = OBJECTS, **choices: Any) -> list[dict[str, Any]]:
    found = pulsar_backlog.open(str(source)).messages(columns=COLUMNS, **choices).read_all().to_pylist()
    return sorted(found, key=str)


def test_messages_are_those_of_the_api(session: SparkSession) -> None:
    frame = read(session)
    assert frame.columns == pulsar_backlog.open(str(OBJECTS)).messages().schema.names
    assert rows(frame) == of_api()
    topic = "persistent://lab/s3/chunk-lz4"
    payloads = {row["payload_sha256"]: row["payload"] for row in rows(read(session, topic=topic), *COLUMNS, "payload")}
    assert set(payloads) == {row["payload_sha256"] for row in of_api(topic=topic)}


@pytest.mark.parametrize("kind", ["messages", "entries"])
@pytest.mark.parametrize("as_given", [False, True])
def test_columns_promise_what_the_schema_does(kind: str, as_given: bool) -> None:
    """Spark 4.2 refuses a column that is not nullable where its schema's is; one that is costs a look in each row."""
    source = PulsarBacklogSource({"path": str(OBJECTS), "rows": kind})
    schema = source.schema()
    if as_given:  # by `.schema("topic STRING, ...")`, which promises nothing
        schema = StructType([StructField(field.name, field.dataType) for field in schema.fields])
    reader = source.reader(schema)
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    assert batches
    promised = {field.name for field in schema.fields if not field.nullable}
    assert ("entry_id" in promised) == (kind == "entries" and not as_given)
    for batch in batches:
        assert isinstance(batch, pa.RecordBatch)
        assert {field.name for field in batch.schema if not field.nullable} == promised


def test_a_reader_promises_no_more_than_it_keeps() -> None:
    source = PulsarBacklogSource({"path": str(OBJECTS)})
    reader = source.reader(StructType([StructField("state", StringType(), nullable=False)]))
    assert isinstance(reader, BacklogReader)
    assert reader.columns == {"state": True}


def test_decoded_messages_are_those_of_the_api(session: SparkSession) -> None:
    source, schemas = DATA / "typed" / "objects", str(DATA / "typed")
    for topic in ("*/avro", "*/kvseparated", "*/protobufnative"):
        frame = read(session, source, topic=topic, schemas=schemas, decode="schema")
        expected = pulsar_backlog.open(str(source), schemas=schemas).messages(topic, decode=True).read_all()
        assert frame.columns == expected.schema.names
        found = sorted((row.asDict(recursive=True) for row in frame.select("value", "decode_error").collect()), key=str)
        plain = expected.select(["value", "decode_error"]).to_pylist(maps_as_pydicts="strict")
        assert found == sorted(plain, key=str)
    notes = frame_of_notes(session, source, schemas)
    assert notes == ["later", "later", "later"]
    with pytest.raises((AnalysisException, PythonException), match="decode and mask are for rows=messages"):
        read(session, source, rows="entries", decode="schema").collect()


def frame_of_notes(session: SparkSession, source: Path, schemas: str) -> list[str]:
    """What a nested column holds, by SQL."""
    options = f"path '{source}', topic '*/json', schemas '{schemas}', decode 'schema'"
    session.sql(f"CREATE OR REPLACE TEMP VIEW typed USING `pulsar-backlog` OPTIONS ({options})")
    return [row[0] for row in session.sql("SELECT value.note FROM typed WHERE value.id BETWEEN 6 AND 8").collect()]


def test_entries_are_those_of_the_api(session: SparkSession) -> None:
    names = ("topic", "ledger_id", "entry_id", "checksum", "producer_name", "publish_time_ms", "uuid", "chunk_id")
    found = pulsar_backlog.open(str(OBJECTS)).entries(columns=names).read_all().to_pylist()
    assert rows(read(session, rows="entries"), *names) == sorted(found, key=str)


def test_a_schema_is_a_projection(session: SparkSession) -> None:
    reader = session.read.format("pulsar-backlog").schema("entry_id BIGINT, topic STRING")
    frame = reader.option("topic", "*/chunk-lz4").load(str(OBJECTS))
    assert frame.columns == ["entry_id", "topic"]
    assert len(frame.collect()) == len(of_api(topic="*/chunk-lz4"))
    with pytest.raises((AnalysisException, PythonException), match="column colour is not there"):
        session.read.format("pulsar-backlog").schema("colour STRING").load(str(OBJECTS)).collect()


def test_no_payload_where_none_is_wanted(session: SparkSession) -> None:
    assert not {"payload", "payload_file"} & set(read(session, payload="none").columns)


def test_sql_reads_it(session: SparkSession) -> None:
    session.sql(
        f"CREATE OR REPLACE TEMP VIEW lz4 USING `pulsar-backlog` OPTIONS (path '{OBJECTS}', topic '*/chunk-lz4')"
    )
    (row,) = session.sql("SELECT count(*) AS n, count(DISTINCT topic) AS topics FROM lz4").collect()
    assert (row["n"], row["topics"]) == (len(of_api(topic="*/chunk-lz4")), 1)
    session.catalog.dropTempView("lz4")


def test_filters_change_what_is_read_and_not_what_is_found(session: SparkSession) -> None:
    every = rows(read(session), *COLUMNS, "publish_time", "broker_timestamp", "producer_name")
    some = every[len(every) // 2]
    moment = sorted(row["publish_time"] for row in every)[len(every) // 2]
    for condition, holds in (
        (f.col("topic") == some["topic"], lambda row: row["topic"] == some["topic"]),
        (f.col("ledger_id") == some["ledger_id"], lambda row: row["ledger_id"] == some["ledger_id"]),
        (f.col("ledger_id").isin(4, 292), lambda row: row["ledger_id"] in (4, 292)),
        ((f.col("ledger_id") > 280) & (f.col("ledger_id") <= 292), lambda row: 280 < row["ledger_id"] <= 292),
        ((f.col("entry_id") >= 3) & (f.col("entry_id") < 9), lambda row: 3 <= row["entry_id"] < 9),
        (f.col("publish_time") >= f.lit(moment), lambda row: row["publish_time"] >= moment),
        (f.col("publish_time") == f.lit(moment), lambda row: row["publish_time"] == moment),
        (f.col("broker_timestamp") < f.lit(moment), lambda row: (row["broker_timestamp"] or moment) < moment),
        (f.col("producer_name") == some["producer_name"], lambda row: row["producer_name"] == some["producer_name"]),
    ):
        found = rows(read(session).filter(condition))
        assert found == sorted(({name: row[name] for name in COLUMNS} for row in every if holds(row)), key=str)


def test_chunks_of_two_ledgers_are_one_message_under_a_filter(session: SparkSession) -> None:
    spanning = [
        row
        for row in pulsar_backlog.open(str(MAPFILES)).messages().read_all().to_pylist()
        if row["first_ledger_id"] is not None and row["first_ledger_id"] != row["ledger_id"]
    ]
    assert spanning
    one = spanning[0]
    found = read(session, MAPFILES).filter(
        (f.col("ledger_id") == one["ledger_id"]) & (f.col("entry_id") == one["entry_id"])
    )
    assert [row["payload_sha256"] for row in found.collect()] == [one["payload_sha256"]]


def test_a_large_topic_is_read_in_parts_and_each_message_once(session: SparkSession, tmp_path: Path) -> None:
    write_backlog(Spec(entries=75_000, ledgers=2, chunk_share=0.3, batch_share=0.0), tmp_path)
    options = {"path": str(tmp_path)}
    source = PulsarBacklogSource(options)
    reader = source.reader(source.schema())
    assert isinstance(reader, BacklogReader)
    parts = reader.partitions()
    assert len(parts) > 2
    assert sum(isinstance(part, TopicPartition) for part in parts) == 1
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) > SMALL_TOPIC_BYTES
    frame = read(session, tmp_path, payload="none")
    counts = {(row["state"]): row["count"] for row in frame.groupBy("state").count().collect()}
    known: dict[str, int] = {}
    for batch in pulsar_backlog.open(str(tmp_path)).messages(columns=["state"]):
        for state in batch.column("state").to_pylist():
            known[state] = known.get(state, 0) + 1
    assert counts == known
    assert counts["whole"] > 0
    ids = frame.select("ledger_id", "entry_id", "batch_index")
    assert ids.distinct().count() == sum(counts.values())


def test_partitions_grow_where_all_cores_stay_busy(session: SparkSession, tmp_path: Path) -> None:
    write_backlog(Spec(entries=500_000, ledgers=2), tmp_path)

    def units(cores: int | None, kind: str) -> list[tuple[ScanUnit, ...]]:
        source = PulsarBacklogSource({"path": str(tmp_path), "rows": kind})
        source.cores = cores
        reader = source.reader(source.schema())
        return [part.units for part in reader.partitions() if isinstance(part, UnitPartition)]

    for kind in ("entries", "messages"):
        by_unit, few, many = (units(cores, kind) for cores in (None, 1, 64))
        assert TASKS_PER_CORE <= len(few) <= TASKS_PER_CORE + 2 < len(by_unit)  # the last of a ledger is smaller
        assert many == by_unit  # a cluster may have more cores than it has yet
        assert [unit for part in few for unit in part] == [unit for part in by_unit for unit in part]
    frame = read(session, tmp_path, rows="entries")
    cores = session.sparkContext.defaultParallelism
    # Not by `frame.rdd`: that is planned by the settings of whichever session this thread used last.
    assert frame.select(f.spark_partition_id()).distinct().count() == len(units(cores, "entries"))
    assert frame.select("ledger_id", "entry_id").distinct().count() == 500_000


def test_other_ledgers_are_not_read(session: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "objects"
    shutil.copytree(OBJECTS, folder)
    topic = "persistent://lab/s3/chunk-lz4"
    (ledger,) = {row["ledger_id"] for row in of_api(topic=topic)}
    for path in folder.iterdir():
        if not path.name.endswith("-index") and f"-ledger-{ledger}" not in path.name:
            path.write_bytes(b"\xff" * path.stat().st_size)  # who reads it finds nothing of what was there
    assert rows(read(session, folder).filter(f.col("ledger_id") == ledger)) == of_api(topic=topic)


def test_modes(session: SparkSession) -> None:
    every = of_api()
    broken = [row for row in every if row["outcome"] not in ("exported", "wrong_size")]
    assert broken
    assert read(session, mode="dropmalformed").count() == len(every) - len(broken)
    with pytest.raises(PythonException, match=r"undecodable|no_key"):
        read(session, mode="failfast").collect()


def test_keys_open_messages_on_executors(session: SparkSession) -> None:
    export = DATA / "export"
    closed = read(session, export / "objects").filter("outcome = 'no_key'").count()
    opened = read(session, export / "objects", private_keys=str(export / "keys")).filter("outcome = 'no_key'").count()
    assert closed > opened


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rows": "chunks"}, "rows 'chunks' is none of messages, entries"),
        ({"colour": "red"}, "no option colour"),
        ({"since": "soon"}, "soon"),
        ({"topic": "nobody"}, "matches nobody"),
    ],
)
def test_mistakes_are_told(session: SparkSession, options: dict[str, str], words: str) -> None:
    with pytest.raises((AnalysisException, PythonException), match=words):
        read(session, **options).collect()


def test_times_reach_the_option(session: SparkSession) -> None:
    times = [row["publish_time"] for row in rows(read(session), "publish_time")]
    late = max(times).isoformat() + "Z"
    assert read(session, since=late).count() == times.count(max(times))
    assert json.dumps(late)
    assert read(session, until=(min(times) - timedelta(seconds=1)).isoformat() + "Z").count() == 0
