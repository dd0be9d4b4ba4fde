"""What filters and transactions leave out of an export, and what they must not: topics made by hand."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.messages.outcomes import NULL_WITH_BYTES
from pulsar_backlog.wire.markers import TXN_ABORT, TXN_COMMIT
from tests.auditing import Audited, data_object, rows_of, run_job_of, run_one
from tests.ledgers.encoding import offload
from tests.wire.encode import entry, number, run

NEEDS_SPARK = True

SENT_MS = 1_795_258_700_000
KEY_K, KEY_L = run(6, b"K"), run(6, b"L")


def head(sequence_id: int, *more: bytes, producer: bytes = b"p") -> bytes:
    return run(1, producer) + number(2, sequence_id) + number(3, SENT_MS) + b"".join(more)


def chunk(chunk_id: int, payload: bytes, *more: bytes, producer: bytes = b"p") -> bytes:
    """One of the two chunks of a message of 20 bytes."""
    fields = run(26, b"p-1") + number(27, 2) + number(28, 20) + number(29, chunk_id)
    return entry(head(1, *more, fields, producer=producer), payload)


def member(payload: bytes, key: bytes) -> bytes:
    metadata = run(2, key) + number(3, len(payload))
    return struct.pack(">I", len(metadata)) + metadata + payload


def damaged(body: bytes) -> bytes:
    """The entry with another checksum, so that all it says of itself reads as before."""
    return body[:2] + bytes([body[2] ^ 1]) + body[3:]


def transaction(low: int) -> bytes:
    return number(22, low) + number(23, 0)


def marker(kind: int, low: int) -> bytes:
    return entry(head(-1, number(20, kind), transaction(low), producer=b"broker"), b"")


def sealed(key: bytes) -> bytes:
    """A wrapped data key and an initialisation vector."""
    return run(13, run(1, key) + run(2, b"wrapped")) + run(15, bytes(12))


TOPICS: dict[str, list[bytes]] = {
    "keys": [
        entry(head(0, sealed(b"lost"), number(11, 2)), b"ciphertext" * 5),
        entry(head(2, number(8, 3), number(9, 50), number(11, 2)), b"not a Zstandard frame"),
        entry(head(4, KEY_K), b"of key K"),
        entry(head(5, KEY_L), b"of key L"),
        entry(head(6, number(11, 2)), member(b"member of K", b"K") + member(b"member of L", b"L")),
        damaged(entry(head(8, KEY_L), b"whose key is not to be believed")),
    ],
    "half-aborted": [chunk(0, b"a" * 10), chunk(1, b"b" * 10, transaction(1)), marker(TXN_ABORT, 1)],
    "half-committed": [chunk(0, b"a" * 10), chunk(1, b"b" * 10, transaction(1)), marker(TXN_COMMIT, 1)],
    "damaged-marker": [
        entry(head(0, transaction(1)), b"committed"), marker(TXN_COMMIT, 1), damaged(marker(TXN_ABORT, 1)),
    ],
    "size-lies": [chunk(0, b"a" * 10, number(9, 99)), chunk(1, b"b" * 10, number(9, 99))],
    "null-with-bytes": [chunk(0, b"a" * 10, number(25, 1)), chunk(1, b"b" * 10, number(25, 1))],
    "two-producers": [chunk(0, b"a" * 10, KEY_K), chunk(1, b"b" * 10, KEY_L, producer=b"q")],
}  # fmt: skip
LEDGERS = {name: number_ for number_, name in enumerate(TOPICS, 1)}


@pytest.fixture(scope="module")
def audited(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder, out = tmp_path_factory.mktemp("objects"), tmp_path_factory.mktemp("tables")
    for name, bodies in TOPICS.items():
        stored = offload(bodies, managed_ledger=f"t/n/persistent/{name}")
        path = folder / f"0f8fad5b-d9cb-469f-a165-{LEDGERS[name]:012d}-ledger-{LEDGERS[name]}"
        path.write_bytes(stored.data)
        path.with_name(path.name + "-index").write_bytes(stored.index)
    for job in ("inventory_ledgers", "scan_entries", "assemble_chunks"):
        run_one(job, folder, out, cluster="c")
    return folder, out


Found = dict[tuple[int, int], dict[str, Any]]


def exported(source: Path, out: Path, to: Path, topic: str, **options: Any) -> tuple[Audited, Found]:
    """How the export of a topic ended, and its rows by entry and batch index."""
    done = run_job_of("export", "export_messages", source, out, cluster="c", topic=(f"*/{topic}",), to=to, **options)
    return done, {(row["entry_id"], row["batch_index"]): row for row in rows_of(to, "messages")}


def words(found: Found, *columns: str) -> dict[tuple[int, int], tuple[Any, ...]]:
    return {place: tuple(row[name] for name in columns) for place, row in found.items()}


def exported_codes(done: Audited, topic: str) -> set[str]:
    """What exports found in a topic."""
    found = [row for row in done.rows("findings") if row["job"] == "export_messages"]
    return {row["code"] for row in found if row["topic"].endswith(f"/{topic}")}


def test_a_key_leaves_out_no_message_whose_key_cannot_be_known(audited: tuple[Path, Path], tmp_path: Path) -> None:
    done, found = exported(*audited, tmp_path, "keys", key=("K",))
    assert words(found, "outcome", "state", "batch_size") == {
        (0, -1): ("no_key", "batch", 2),
        (1, -1): ("undecodable", "batch", 2),
        (2, -1): ("exported", "single", None),
        (4, 0): ("exported", "batch", 2),
        (5, -1): ("corrupt", "single", None),
    }
    assert exported_codes(done, "keys") == {"X02", "X04", "X06"}


def test_a_key_does_not_hide_that_the_object_is_gone(audited: tuple[Path, Path], tmp_path: Path) -> None:
    source = tmp_path / "objects"
    shutil.copytree(audited[0], source)
    data_object(source, LEDGERS["keys"]).unlink()
    done, found = exported(source, audited[1], tmp_path / "to", "keys", key=("K",))
    assert words(found, "outcome", "state") == {
        (0, -1): ("unreadable", "batch"),
        (1, -1): ("unreadable", "batch"),
        (2, -1): ("unreadable", "single"),
        (4, -1): ("unreadable", "batch"),
        (5, -1): ("unreadable", "single"),
    }
    assert (done.exit_code, exported_codes(done, "keys")) == (4, {"X07"})


@pytest.mark.parametrize(("state", "entries"), [("batch", {0, 1, 4, 5}), ("single", {2, 3, 5}), ("whole", set())])
def test_a_state_leaves_out_no_batch_that_stays_shut(
    audited: tuple[Path, Path], tmp_path: Path, state: str, entries: set[int]
) -> None:
    _, found = exported(*audited, tmp_path, "keys", state=(state,))
    assert {place[0] for place in found} == entries


def test_a_damaged_entry_is_left_out_by_no_time_and_no_producer(audited: tuple[Path, Path], tmp_path: Path) -> None:
    _, found = exported(*audited, tmp_path, "keys", producer=("nobody",), until="2020-01-01T00:00:00Z")
    assert words(found, "outcome") == {(5, -1): ("corrupt",)}


def test_a_message_of_which_an_aborted_transaction_holds_a_part_is_hidden_as_a_whole(
    audited: tuple[Path, Path], tmp_path: Path
) -> None:
    done, found = exported(*audited, tmp_path / "usual", "half-aborted")
    assert (found, exported_codes(done, "half-aborted")) == ({}, {"X08"})
    _, found = exported(*audited, tmp_path / "all", "half-aborted", transactions="all")
    assert words(found, "outcome", "transaction", "payload") == {
        (1, -1): ("exported", "aborted", b"a" * 10 + b"b" * 10)
    }
    assert "contradict each other" in found[1, -1]["reason"]  # no client sends one message in two transactions


def test_a_chunked_null_that_holds_bytes_is_not_verified(audited: tuple[Path, Path], tmp_path: Path) -> None:
    _, found = exported(*audited, tmp_path, "null-with-bytes")
    (row,) = found.values()
    assert (row["payload"], row["verified"], row["reason"]) == (b"a" * 10 + b"b" * 10, False, NULL_WITH_BYTES)


@pytest.mark.parametrize("topic", ["half-committed", "damaged-marker"])
def test_what_a_sound_marker_commits_is_exported(audited: tuple[Path, Path], tmp_path: Path, topic: str) -> None:
    _, found = exported(*audited, tmp_path, topic)
    assert {(row["outcome"], row["transaction"]) for row in found.values()} == {("exported", "committed")}


@pytest.mark.parametrize("wanted", [{"producer": ("p",)}, {"producer": ("q",)}, {"key": ("K",)}, {"key": ("L",)}])
def test_a_message_is_wanted_as_a_whole_where_any_of_its_chunks_is(
    audited: tuple[Path, Path], tmp_path: Path, wanted: dict[str, Any]
) -> None:
    _, found = exported(*audited, tmp_path, "two-producers", **wanted)
    assert words(found, "outcome", "payload") == {(1, -1): ("exported", b"a" * 10 + b"b" * 10)}


def test_a_message_none_of_whose_chunks_is_wanted_is_left_out(audited: tuple[Path, Path], tmp_path: Path) -> None:
    assert exported(*audited, tmp_path, "two-producers", producer=("nobody",))[1] == {}
    assert exported(*audited, tmp_path, "two-producers", key=("K",), producer=("q",))[1] == {}


def test_audit_and_export_agree_on_an_uncompressed_message_that_states_another_size(
    audited: tuple[Path, Path], tmp_path: Path
) -> None:
    verdicts = {row["topic"].rsplit("/", 1)[1]: row for row in rows_of(audited[1], "chunked_messages")}
    verdict = verdicts["size-lies"]
    assert (verdict["state"], verdict["rebuildable"], verdict["sureness"]) == ("whole", True, "likely")
    assert "uncompressed size" in verdict["reason"]
    done, found = exported(*audited, tmp_path, "size-lies")
    assert words(found, "outcome", "verified", "payload") == {(1, -1): ("wrong_size", False, b"a" * 10 + b"b" * 10)}
    assert exported_codes(done, "size-lies") == {"X05"}


def test_an_export_speaks_of_its_own_topics_only(audited: tuple[Path, Path], tmp_path: Path) -> None:
    source = tmp_path / "objects"
    shutil.copytree(audited[0], source)
    data_object(source, LEDGERS["keys"]).unlink()
    done, _ = exported(source, audited[1], tmp_path / "to", "keys")
    assert (done.exit_code, exported_codes(done, "keys")) == (4, {"X07"})
    done, _ = exported(source, audited[1], tmp_path / "to", "half-committed", transactions="all")
    assert (done.exit_code, exported_codes(done, "half-committed")) == (0, {"X09"})
    assert exported_codes(done, "keys") == {"X07"}  # nobody looked there again
