"""One stored entry taken apart: real entries of the bundled backlog, and damaged ones."""

from __future__ import annotations

import io
import itertools
import socket
from pathlib import Path

import pytest
from rich.console import Console

from pulsar_backlog.chunks.shared_fields import REPLICATION_POSITION
from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.explain import explain_entry
from pulsar_backlog.report.terminal.explain import ExplainModel, print_explain
from tests.auditing import OBJECTS, copy_ledgers, data_object
from tests.ledgers.conftest import aws
from tests.ledgers.encoding import offload
from tests.ledgers.sources import put
from tests.wire.encode import REQUIRED, entry, number, pair, run

__all__ = ["aws"]


def explain(position: str, source: Path = OBJECTS, *, show_values: bool = False) -> ExplainModel:
    return explain_entry(str(source), None, position, show_values)


def printed(model: ExplainModel) -> str:
    out = io.StringIO()
    print_explain(model, Console(file=out, width=160))
    return out.getvalue()


def facts(model: ExplainModel) -> dict[str, str]:
    return {fact.name: fact.value for fact in model.publication or ()}


def test_a_chunk_names_its_message() -> None:
    model = explain("22:3")  # brk-dup-prefix: 0 1 | 0 1 2 3
    assert model.topic == "persistent://lab/s3/brk-dup-prefix"
    assert model.data == data_object(OBJECTS, 22).read_bytes()[model.place.offset : model.place.end]
    named = {field.name: field.value for field in model.metadata}
    assert (named["chunk_id"], named["num_chunks_from_msg"]) == ("1", "4")
    assert facts(model) == {
        "uuid": named["uuid"],
        "chunk": "1 (from 0) of 4",
        "state in these ledgers": "whole",
        "flags": "repeated prefix",
        "rebuildable": "yes",
        "copies stored": "6",
        "missing chunks": "none",
        "from": "22:2",
        "to": "22:5",
        "ledgers looked at": "22",
    }


def test_a_store_that_does_not_answer_is_no_loss_of_data(aws: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken, pytest.raises(UsageError) as refused:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        explain_entry("s3://bucket", f"http://127.0.0.1:{taken.getsockname()[1]}", "22:3", False)
    assert "nothing listens there" in str(refused.value)
    assert "not stored" not in str(refused.value)


def test_a_folder_without_ledgers_is_no_loss_of_data(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is empty: name the folder"):
        explain("22:3", tmp_path)


def test_a_ledger_that_may_lie_in_a_part_that_cannot_be_listed_is_not_called_missing(tmp_path: Path) -> None:
    copy_ledgers(tmp_path, [22])
    (tmp_path / "broken").symlink_to(tmp_path / "gone")
    assert explain("22:3", tmp_path).topic == "persistent://lab/s3/brk-dup-prefix"
    with pytest.raises(SourceError, match=r"ledger 24 is in no part .* could be listed.*/broken"):
        explain("24:0", tmp_path)


def test_an_incomplete_message_names_what_is_missing() -> None:
    found = facts(explain("28:1"))  # brk-orphan-prefix: 0 1 of 4
    assert (found["state in these ledgers"], found["missing chunks"], found["rebuildable"]) == (
        "orphan prefix",
        "2, 3",
        "no",
    )


def chunk(chunk_id: int, *metadata: bytes) -> bytes:
    """A chunk of `p-0`, two of 2 bytes."""
    fields = run(26, b"p-0") + number(27, 2) + number(28, 4) + number(29, chunk_id)
    return entry(REQUIRED + fields + b"".join(metadata))


def test_a_replicated_message_is_no_conflict(tmp_path: Path) -> None:
    positions = (b"5:%d" % at for at in range(2))  # the place of each chunk on the cluster that it came from
    put(tmp_path, offload([chunk(at, pair(REPLICATION_POSITION.encode(), next(positions))) for at in range(2)]))
    found = facts(explain("7:1", tmp_path))
    assert (found["state in these ledgers"], found["flags"]) == ("whole", "none")


@pytest.mark.parametrize("field", [number(12, 1), number(19, 5), number(22, 1), number(23, 1)])
def test_chunks_that_differ_in_what_they_share_are_a_conflict(tmp_path: Path, field: bytes) -> None:
    put(tmp_path, offload([chunk(0), chunk(1, field)]))
    assert facts(explain("7:1", tmp_path))["flags"] == "metadata conflict"


def test_spans_cover_every_byte_in_order() -> None:
    model = explain("292:0")
    top = [span for span in model.spans if span.depth == 0]
    assert sum(span.end - span.start for span in top) == model.length
    assert [span.label for span in top][-1] == "payload"
    assert all(one.end <= two.start for one, two in itertools.pairwise(top))


def test_values_are_withheld_unless_asked_for(tmp_path: Path) -> None:
    secret = entry(REQUIRED + pair(b"colour", b"qzx-value") + run(6, b"qzx-key"), b"qzx-payload")
    put(tmp_path, offload([secret]))
    hidden, shown = (printed(explain("7:0", tmp_path, show_values=asked)) for asked in (False, True))
    for text in ("qzx-value", "qzx-key", b"qzx-payload".hex(" "), b"qzx-value".hex(" ")):
        assert text not in hidden
    assert "qzx-value" in shown
    assert "qzx-key" in shown
    assert b"qzx-payload".hex(" ") in shown


def test_an_undecodable_entry_says_where_and_why(tmp_path: Path) -> None:
    put(tmp_path, offload([entry(), b"\x0e\x01"]))
    model = explain("7:1", tmp_path)
    assert model.checksum.startswith("it cannot be decoded: entry_too_short at byte ")
    assert model.spans == ()
    assert model.data == b"\x0e\x01"
    assert "cannot be decoded" in printed(model).splitlines()[0]


def test_a_wrong_checksum_is_said_first(tmp_path: Path) -> None:
    put(tmp_path, offload([entry()[:-1] + b"!"]))
    assert "ITS CHECKSUM DOES NOT MATCH" in printed(explain("7:0", tmp_path)).splitlines()[0]


def test_a_marker_is_no_message() -> None:
    said = [" ".join(explain(f"23:{number}").notes) for number in range(6)]  # brk2-rs-markers: 4 between 2 messages
    assert [("server-internal marker" in notes) for notes in said] == [False, True, True, True, True, False]


def test_an_entry_without_checksum() -> None:
    assert "without a checksum" in explain("79:0").checksum


@pytest.mark.parametrize(
    ("position", "words"),
    [
        ("22", "'22' is not a position"),
        ("22:-1", "is not a position"),
        ("a:b", "is not a position"),
        ("4000:0", "ledger 4000 is not stored"),
        ("22:7", "holds no readable entry 7; the last one it holds is 6"),
    ],
)
def test_what_cannot_be_found(position: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        explain(position)
    assert words in str(caught.value)


def test_an_index_without_data_is_told(tmp_path: Path) -> None:
    data_object(copy_ledgers(tmp_path, [22]), 22).unlink()
    with pytest.raises(UsageError) as caught:
        explain("22:0", tmp_path)
    assert "nothing of it can be read" in str(caught.value)


MAP_FILES = Path(__file__).parent / "data" / "mapfiles" / "source"


@pytest.mark.parametrize("position", ["72:1", "261:0", "261:142", "261:143", "261:309", "194:2"])
def test_an_entry_in_a_block_of_a_map_file(position: str) -> None:
    model = explain(position, MAP_FILES)
    assert model.checksum.startswith("its checksum matches")
    assert model.place.path.endswith("/data")
    said = printed(model).replace("\n", " ")
    assert (
        f"at byte {model.place.offset:,}, in a block of {model.place.block_length:,} bytes; decompressed, at byte"
        in said
    )


def test_a_chunk_in_a_map_file_names_its_message() -> None:
    found = facts(explain("186:2", MAP_FILES))
    assert (found["state in these ledgers"], found["copies stored"], found["to"]) == ("whole", "2", "186:3")


def test_an_entry_that_a_map_file_does_not_hold() -> None:
    with pytest.raises(UsageError, match=r"ledger 261 holds no readable entry 310; the last one it holds is 309"):
        explain("261:310", MAP_FILES)
