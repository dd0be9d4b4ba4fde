"""`jars`: what a spark-submit must be given besides this package."""

from __future__ import annotations

from typing import Annotated, Literal

import typer


def jars(
    s3a: Annotated[
        Literal["s3a"] | None,
        typer.Argument(help="with those of s3a:// buckets, for results on S3", show_default=False),
    ] = None,
) -> None:
    """Print the jars that spark-submit --jars takes, with commas between; they are fetched once and checked."""
    from pulsar_backlog.spark.jars import jars_argument

    typer.echo(jars_argument(with_s3a=s3a is not None))
