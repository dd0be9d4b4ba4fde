"""A cluster of another Spark or Python than the driver's is one sentence; Spark's words are those it really said."""

from __future__ import annotations

import pyspark
import pytest

from pulsar_backlog.errors import UsageError
from pulsar_backlog.runs.endings import environment_faults_as_usage_errors, is_interrupt
from pulsar_backlog.spark.mismatches import mismatch_words, refusals_as_usage_errors

OTHER_SPARK = (
    "An error occurred while calling o58.collectToPython.\n: org.apache.spark.SparkException: Job aborted due to stage "
    "failure: Task 0 in stage 0.0 failed 4 times, most recent failure: Lost task 0.3 in stage 0.0 (TID 3) (127.0.0.1 "
    "executor 0): java.io.InvalidClassException: org.apache.spark.rdd.RDD; local class incompatible: stream classdesc "
    "serialVersionUID = -2646589594477856326, local class serialVersionUID = 2156047220611086279\n\tat java.base/"
)
OTHER_PYTHON = (
    'Traceback (most recent call last):\n  File "worker.py", line 1, in main\n'
    "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different "
    "version: 3.12 than that in driver: 3.11, PySpark cannot run with different minor versions.\nPlease check "
    "environment variables PYSPARK_PYTHON and PYSPARK_DRIVER_PYTHON are correctly set.\n"
)
STOPPED = (
    "An error occurred while calling None.org.apache.spark.sql.classic.SparkSession.\n"
    ": java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.\n"
    "This stopped SparkContext was created at:\n"
)


def words_of_a_run(words: str) -> str:
    with pytest.raises(UsageError) as caught, environment_faults_as_usage_errors("out"):
        raise RuntimeError from ValueError(words)
    return str(caught.value)


def test_executors_of_another_spark_are_named_with_the_remedy() -> None:
    words = words_of_a_run(OTHER_SPARK)
    assert words.startswith(
        f"the cluster's executors run another Spark than this driver, which has Spark {pyspark.__version__}:"
    )
    assert "pip install 'pyspark==...'" in words
    assert "\n" not in words


def test_executors_of_another_python_are_named_with_the_remedy() -> None:
    words = words_of_a_run(OTHER_PYTHON)
    assert words.startswith("the cluster's executors run Python 3.12, and this driver Python 3.11: ")
    assert "--conf spark.pyspark.python=" in words
    assert "\n" not in words


@pytest.mark.parametrize(
    "words",
    [
        OTHER_SPARK.replace("org.apache.spark.rdd.RDD", "com.example.Own"),  # of a library of the cluster's own
        OTHER_SPARK.replace("local class incompatible", "class invalid for deserialization"),
        OTHER_PYTHON.replace("[PYTHON_VERSION_MISMATCH] ", ""),
        STOPPED,  # of a cluster that ended in mid-run
    ],
)
def test_other_faults_are_not_called_a_mismatch(words: str) -> None:
    assert mismatch_words([RuntimeError(words)]) is None


def test_a_cluster_that_does_not_take_an_application_is_one_sentence() -> None:
    words = r"^the Spark cluster.* did not take this application: .*Spark \d"
    with pytest.raises(UsageError, match=words) as caught, refusals_as_usage_errors():
        raise RuntimeError(STOPPED)
    assert "\n" not in str(caught.value)


def test_an_interrupt_of_a_start_passes() -> None:
    with pytest.raises(RuntimeError) as caught, refusals_as_usage_errors():
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError(STOPPED)
    assert is_interrupt(caught.value)


def test_other_faults_of_a_start_pass() -> None:
    with pytest.raises(RuntimeError, match="no such class"), refusals_as_usage_errors():
        raise RuntimeError("no such class")
