"""Commands run as users run them, with results in a bucket, and the bucket as somebody else's client sees it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from deltalake import DeltaTable

from pulsar_backlog.tables import TABLES
from scripts.compare_audits import NOT_COMPARED, rows_of
from tests.auditing import ADMIN
from tests.stores.servers import Store

ROOT = Path(__file__).parents[2]
BUCKET = "audits"
AUDIT = ("--admin", str(ADMIN), "--cluster", "eu-1", "--fail-on", "never")
LIMIT_SECONDS = 1800
"""For anything: a machine may be busy, and nothing here waits for this long when all is well."""


@dataclass(frozen=True)
class Bucket:
    """The bucket of results, on a server that runs."""

    store: Store

    @property
    def environment(self) -> dict[str, str]:
        """What a user of this server sets."""
        return dict(self.store.environment) | {"AWS_ENDPOINT_URL": self.store.endpoint, "AWS_REGION": "us-east-1"}

    def keys(self, prefix: str) -> set[str]:
        """Names of the objects below a prefix, without it."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{prefix}/")
        return {found["Key"].removeprefix(f"{prefix}/") for page in pages for found in page.get("Contents", ())}

    def body(self, key: str) -> bytes:
        """An object."""
        return bytes(self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read())

    def download(self, prefix: str, folder: Path) -> Path:
        """A folder of what lies below a prefix."""
        for key in self.keys(prefix):
            (folder / key).parent.mkdir(parents=True, exist_ok=True)
            (folder / key).write_bytes(self.body(f"{prefix}/{key}"))
        return folder

    @property
    def client(self) -> Any:
        """A client that is not under test."""
        return boto3.client(
            "s3", endpoint_url=self.store.endpoint, aws_access_key_id="key", aws_secret_access_key="secret",
            region_name="us-east-1", config=Config(s3={"addressing_style": "path"}),
        )  # fmt: skip

    def table(self, prefix: str, table: str) -> DeltaTable:
        """A table, read by delta-rs."""
        options = self.environment | {"AWS_ALLOW_HTTP": "true"}
        return DeltaTable(f"s3://{BUCKET}/{prefix}/tables/{table}", storage_options=options)


def filled(bucket: Bucket, name: str, folder: Path) -> str:
    """Address of a new bucket of the files in a folder."""
    bucket.store.fill(name, {path.name: (path.read_bytes(), {}) for path in folder.iterdir()})
    return f"s3://{name}"


def command(bucket: Bucket, *argv: object) -> subprocess.CompletedProcess[str]:
    """`pulsar-backlog` in a process of its own."""
    return run([sys.executable, "-m", "pulsar_backlog.cli", *map(str, argv)], bucket.environment)


def run(argv: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A program, run to its end in `environment_of` these variables."""
    return subprocess.run(
        argv, env=environment_of(environment), capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )


def environment_of(own: dict[str, str]) -> dict[str, str]:
    """This repository on the path, and these variables for all that there is of any cloud."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "SPARK_"))}
    path = {"PYTHONPATH": f"{ROOT / 'lib'}{os.pathsep}{ROOT}", "AWS_EC2_METADATA_DISABLED": "true"}
    return clean | path | own


def differing(
    bucket: Bucket, prefix: str, local: Path, tables: Collection[str] = TABLES.keys()
) -> dict[str, tuple[int, int]]:
    """Those of these tables whose rows differ from a local audit's: how many rows each has alone."""
    found = {}
    for name in sorted(set(tables) - NOT_COMPARED):
        if (local / "tables" / name).is_dir():
            here, there = rows_of(DeltaTable(local / "tables" / name)), rows_of(bucket.table(prefix, name))
            if here != there:
                found[name] = ((here - there).total(), (there - here).total())
    return found


def make_programs(here: Path) -> None:
    """A folder's `.venv`, as `make setup` leaves it: this Python's programs, and this repository's."""
    programs = here / ".venv" / "bin"
    programs.mkdir(parents=True)
    for program in Path(sys.executable).parent.iterdir():
        (programs / program.name).symlink_to(program)
    (programs / "pulsar-backlog").unlink(missing_ok=True)
    (programs / "pulsar-backlog").write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT}/lib:{ROOT}" exec "{sys.executable}" -m pulsar_backlog.cli "$@"\n'
    )
    (programs / "pulsar-backlog").chmod(0o755)
    for name in ("lib", "pyvenv.cfg"):
        (here / ".venv" / name).symlink_to(Path(sys.prefix) / name)
