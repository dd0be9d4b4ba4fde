"""What the Java client writes is decoded to what a reader with AUTO_CONSUME gets; `visible` is what readers see."""

from __future__ import annotations

import base64
import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

import pulsar_backlog
from pulsar_backlog.schemas.values import version_number
from tests.broker.conftest import Admin, topic_path
from tests.broker.distribution import broker_home
from tests.broker.offloading import BUCKET, WAIT_SECONDS, offload, offloading_broker
from tests.broker.process import Broker
from tests.ledgers.conftest import S3Server, aws, s3_server
from tests.schemas.test_client_payloads import as_the_client_tells, expected_value

__all__ = ["aws", "s3_server"]

NAMESPACE = "lab/typed"
SOURCE = Path(__file__).parent / "TypedMessages.java"
SCHEMALESS = ("bytes",)
TYPED = (
    "string", "int8", "int16", "int32", "int64", "float", "double", "boolean", "date", "time", "timestamp", "instant",
    "localdate", "localtime", "localdatetime", "avro", "avrotimes", "json", "jsontimes", "protobufnative", "kvinline",
    "kvseparated", "nulls", "avroencrypted",
)  # fmt: skip
UNSEEN = ("protobuf", *SCHEMALESS)
"""Topics that a reader with AUTO_CONSUME refuses, or that have no schema: their bytes are compared."""
Told = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Written:
    """What is in the bucket, and what the client's readers told of it."""

    backlog: pulsar_backlog.Backlog
    told: Told
    compacted: list[dict[str, Any]]


@pytest.fixture
def written(s3_server: S3Server, aws: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Written]:
    keys = _keys(tmp_path / "keys")
    with offloading_broker(s3_server, tmp_path / "broker", {"transactionCoordinatorEnabled": "true"}) as broker:
        admin = Admin(broker)
        admin.request("PUT", f"/v2/namespaces/{NAMESPACE}", {})
        admin.request("PUT", f"/v2/namespaces/{NAMESPACE}/schemaCompatibilityStrategy", "ALWAYS_COMPATIBLE")
        _client(broker, keys, ["write", "encrypted", "transactions", "keys\t0"])
        _compact(admin, "keys")
        topics = (*TYPED, *UNSEEN, "transactions")
        reads = [f"read\t{name}" + ("\tprotobuf" if name == "protobuf" else "") for name in topics]
        rows = _client(broker, keys, ["keys\t2", *reads, "read\tkeys", "read\tkeys\tcompacted"])
        told: Told = {name: [row for row in rows[:-1] if row["topic"] == name] for name in (*topics, "keys")}
        views = [at for at, row in enumerate(rows) if row["topic"] == "keys"]
        stored = len(told["keys"]) - _length_of_view(told["keys"])
        saved = tmp_path / "saved"
        _save(admin, saved, "keys")
        for name in (*topics, "keys"):
            admin.request("PUT", f"{topic_path(_topic(name))}/unload")
            offload(admin, _topic(name))
        backlog = pulsar_backlog.open(
            f"s3://{BUCKET}", endpoint=s3_server.endpoint, admin=str(saved), admin_url=broker.admin_url,
            token_file=str(broker.token_file), private_keys=str(keys), token_without_tls=True,
        )  # fmt: skip
        yield Written(backlog, {**told, "keys": told["keys"][:stored]}, [rows[at] for at in views[stored:]])


def test_rows_are_what_the_client_reads(written: Written) -> None:
    for name in TYPED:
        _same_values(written, name)
    for name in UNSEEN:
        rows = written.backlog.messages(_topic(name), columns=["payload"]).read_all().to_pylist()
        assert [base64.b64encode(row["payload"]).decode() for row in rows] == [
            one["data"] for one in written.told[name]
        ]
    _reader_sees(written, "transactions", written.told["transactions"], "committed")
    stored = _texts(written, "transactions", "stored")
    assert "undone 1" in stored
    assert len(stored) == len(written.told["transactions"]) + 1
    delayed = written.backlog.messages(_topic("transactions"), columns=["payload", "deliver_at_time"]).read_all()
    assert [row["payload"] for row in delayed.to_pylist() if row["deliver_at_time"] is not None] == [b"after"]
    _reader_sees(written, "keys", written.told["keys"], "committed")
    _reader_sees(written, "keys", written.compacted, "compacted")
    assert 0 < len(written.compacted) < len(written.told["keys"])


def _same_values(written: Written, name: str) -> None:
    """Each message by the version it was written with, as the client reads it."""
    told = written.told[name]
    assert told, name
    kind = name.removesuffix("encrypted")
    for number in {version_number(base64.b64decode(one["version"])) for one in told}:
        reader = written.backlog.messages(_topic(name), decode=f"schema:{number}")
        rows = reader.read_all().to_pylist()
        assert len(rows) == len(told), name
        for row, one in zip(rows, told, strict=True):
            assert row["outcome"] == "exported", (name, row["outcome"], row["reason"])
            if version_number(base64.b64decode(one["version"])) != number:
                continue
            assert row["decode_error"] is None, (name, row["decode_error"])
            ours = {"key": row["key"], "value": row["value"]} if "key" in row else row["value"]
            assert as_the_client_tells(kind, ours) == as_the_client_tells(kind, expected_value(kind, one["value"]))


def _reader_sees(written: Written, name: str, told: list[dict[str, Any]], visible: Any) -> None:
    assert _texts(written, name, visible) == [one["value"] for one in told]


def _texts(written: Written, name: str, visible: Any) -> list[str]:
    rows = written.backlog.messages(_topic(name), columns=["payload"], visible=visible).read_all().to_pylist()
    return [row["payload"].decode() for row in rows]


def _length_of_view(told: list[dict[str, Any]]) -> int:
    """How many of two readings, one behind the other, are the second's, which has fewer and the same end."""
    per_writing = 16  # twice six with keys, one without, one that deletes
    return len(told) - 2 * per_writing


def _keys(folder: Path) -> Path:
    folder.mkdir()
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "private.pem").write_bytes(private)
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (folder / "public.key").write_bytes(public)
    return folder


def _client(broker: Broker, keys: Path, lines: list[str]) -> list[dict[str, Any]]:
    """Run the Java program; the messages that it read."""
    command = [
        "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{broker_home()}/lib/*", str(SOURCE),
        broker.service_url, str(broker.token_file), NAMESPACE, str(keys),
    ]  # fmt: skip
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line[2:]) for line in done.stdout.splitlines() if line.startswith("> {")]


def _compact(admin: Admin, name: str) -> None:
    path = f"{topic_path(_topic(name))}/compaction"
    admin.request("PUT", path)
    deadline = time.monotonic() + WAIT_SECONDS
    while (said := admin.request("GET", path))["status"] != "SUCCESS":
        assert said["status"] in ("RUNNING", "NOT_RUN") and time.monotonic() < deadline, said
        time.sleep(0.2)


def _save(admin: Admin, folder: Path, name: str) -> None:
    folder.mkdir()
    for kind in ("internalStats", "internal-info"):
        said = json.dumps(admin.get(_topic(name), kind))
        (folder / f"lab__typed__{name}.{kind}.json").write_text(said)


def _topic(name: str) -> str:
    return f"persistent://{NAMESPACE}/{name}"
