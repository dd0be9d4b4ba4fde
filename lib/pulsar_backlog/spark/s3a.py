"""How Spark reaches tables in `s3a://` buckets: as ledgers' buckets are reached, unless Spark was told otherwise.

Endpoint, region and addressing come from AWS's environment and profile; credentials are found by the JVM itself, and
never are part of Spark's settings, which it shows and logs.

Source: https://hadoop.apache.org/docs/r3.4.2/hadoop-aws/tools/hadoop-aws/index.html
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import SparkSession

from pulsar_backlog.errors import UsageError
from pulsar_backlog.ledgers.buckets.s3 import S3

SCHEME = "s3a://"

_PROVIDERS = ",".join((
    # The first two are what Spark itself takes from the environment, for executors too.
    "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider",
    "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",  # profiles, single sign-on, roles, machines
))  # fmt: skip
_PROVIDERS_KEY = "fs.s3a.aws.credentials.provider"


def is_needed(places: Iterable[str | None]) -> bool:
    """Whether any of these is a bucket that Spark calls `s3a://`.

    Raises:
        UsageError: one is called `s3://`, which is another file system to Spark, or none.
    """
    named = [place for place in places if place]
    for place in named:
        if place.startswith("s3://"):
            raise UsageError(f"{place}: Spark knows buckets of S3 as s3a://: write s3a://{place.removeprefix('s3://')}")
    return any(place.startswith(SCHEME) for place in named)


def connect(session: SparkSession, places: Iterable[str | None], own_machine: bool) -> None:
    """Tell Hadoop of the services of these buckets; what Spark's settings say wins.

    Args:
        session: running.
        places: folders and addresses; only those in `s3a://` buckets matter.
        own_machine: whether the JVM is this program's own, so that credentials are looked for as this user's.
    """
    chosen = {key.removeprefix("spark.hadoop.") for key, _ in session.sparkContext.getConf().getAll()}
    hadoop = session.sparkContext._jsc.hadoopConfiguration()
    if own_machine and _PROVIDERS_KEY not in chosen:
        hadoop.set(_PROVIDERS_KEY, _PROVIDERS)
    for place in places:
        if place is None or not place.startswith(SCHEME):
            continue
        bucket = place.removeprefix(SCHEME).partition("/")[0]
        for name, value in _service_of(bucket).items():
            of_bucket = f"fs.s3a.bucket.{bucket}.{name}"
            if not chosen & {of_bucket, f"fs.s3a.{name}"}:
                hadoop.set(of_bucket, value)


def _service_of(bucket: str) -> dict[str, str]:
    """Hadoop's settings of a bucket whose service is not AWS, by what follows its name."""
    client = S3(bucket, None)
    own = client.own_service
    if own is None:
        return {}
    endpoint, region = own
    return {
        "endpoint": endpoint,
        "endpoint.region": region,
        "path.style.access": str(not client.is_virtual).lower(),
    }
