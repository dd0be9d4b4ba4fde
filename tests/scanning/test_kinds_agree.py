"""The same content in two kinds of storage gives equal `entries` but for location, and every location leads back."""

from __future__ import annotations

from pathlib import Path

import pytest

from pulsar_backlog.ledgers.entry_batch import Place
from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.places import BlockOpener
from pulsar_backlog.ledgers.store import open_source
from tests.ledgers import encoding as jcloud
from tests.ledgers.mapfile.encoding import CODECS, MapFile, Style, map_file, put_map_file
from tests.ledgers.sources import put, see
from tests.ledgers.streaming.encoding import closed, put_segment, segment
from tests.scanning.scans import Row, scanned
from tests.wire.encode import REQUIRED, entry

SOURCE = Path(__file__).parents[1] / "data" / "mapfiles" / "source"
LOCATION = ("uri", "offset", "inner_offset", "block_length")


def without_location(rows: list[Row]) -> list[Row]:
    return [{name: value for name, value in row.items() if name not in LOCATION} for row in rows]


def place(row: Row) -> Place:
    return Place(row["uri"], row["offset"], row["length"], row["inner_offset"], row["block_length"])


def test_what_a_broker_wrote_as_mapfiles_and_the_same_as_objects(tmp_path: Path) -> None:
    bodies = see(SOURCE).entries
    topics = {copy.ledger_id: copy.managed_ledger for copy in take_inventory(open_source(str(SOURCE))).copies}
    for ledger_id, entries in bodies.items():
        put(tmp_path, jcloud.offload([body for _, body in entries], managed_ledger=topics[ledger_id]), ledger_id)
    theirs, rejects, account = scanned(open_source(str(SOURCE)))
    ours, others, same = scanned(open_source(str(tmp_path)))
    assert set(theirs) == set(ours) == {31, 71, 72, 85, 186, 194, 261, 266}
    for ledger_id, rows in theirs.items():
        assert without_location(rows) == without_location(ours[ledger_id])
        assert all(row["inner_offset"] is not None and row["block_length"] for row in rows)
    assert (rejects, account) == (others, same) == ([], account)
    opener = BlockOpener(open_source(str(SOURCE)))
    for ledger_id, rows in theirs.items():
        for row in rows:
            assert opener.read(place(row)).tobytes() == bodies[ledger_id][row["entry_id"]][1]


def test_what_a_broker_wrote_as_mapfiles_and_the_same_as_streaming_offload(tmp_path: Path) -> None:
    """Segments as they are cut anywhere: several ledgers in one, a ledger in several, and some entries in two."""
    bodies = {ledger_id: [body for _, body in entries] for ledger_id, entries in see(SOURCE).entries.items()}
    firsts = [closed(ledger_id, entries, 0, len(entries) // 2 + 1) for ledger_id, entries in bodies.items()]
    stretches = [*firsts, *(closed(ledger_id, entries, len(entries) // 2) for ledger_id, entries in bodies.items())]
    for number in range(0, len(stretches), 3):
        put_segment(tmp_path, segment(stretches[number : number + 3], 20_000), f"{jcloud.UUID[:-2]}{number:02d}")
    theirs, rejects, account = scanned(open_source(str(SOURCE)))
    source = open_source(str(tmp_path))
    ours, others, same = scanned(source)
    assert ours.keys() == theirs.keys()
    for ledger_id, rows in ours.items():
        topic = theirs[ledger_id][0]["topic"]  # which no object names
        assert without_location([row | {"topic": topic} for row in rows]) == without_location(theirs[ledger_id])
        for row in rows:
            assert (
                source.read(row["uri"], row["offset"], row["offset"] + row["length"]).tobytes()
                == (bodies[ledger_id][row["entry_id"]])
            )
    assert len({row["uri"] for rows in ours.values() for row in rows}) > 4
    assert (rejects, account) == (others, same)


BODIES = [*(entry(payload=bytes([n]) * (n * 40)) for n in range(30)), entry(REQUIRED[:-1] + b"\xff"), b"\0", b""]
"""The last three cannot be decoded."""
STYLES = [Style("NONE"), *(Style(how, codec) for how in ("RECORD", "BLOCK") for codec in CODECS)]


def in_style(style: Style) -> MapFile:
    return map_file(BODIES, Style(style.compression, style.codec, block_bytes=3000, sync_interval=2000))


@pytest.mark.parametrize("style", STYLES, ids=lambda style: f"{style.compression}-{style.codec}")
def test_every_style(style: Style, tmp_path: Path) -> None:
    put(tmp_path / "objects", jcloud.offload(BODIES))
    put_map_file(tmp_path / "files", in_style(style))
    source = open_source(str(tmp_path / "files"))
    rows, rejects, account = scanned(source)
    others, their_rejects, same = scanned(open_source(str(tmp_path / "objects")))
    assert len(rows[7]) == 30
    assert without_location(rows[7]) == without_location(others[7])
    assert account == same
    assert (account.frames, account.rejected, account.faults) == (33, 3, 0)
    opener = BlockOpener(source)
    for row in rows[7]:
        assert opener.read(place(row)).tobytes() == BODIES[row["entry_id"]]
    assert [(row["entry_id"], row["code"], row["first_bytes"]) for row in rejects] == [
        (row["entry_id"], row["code"], row["first_bytes"]) for row in their_rejects
    ]
    for row, other in zip(rejects, their_rejects, strict=True):
        went_wrong = other["offset"] - other["entry_offset"]  # from the entry's first byte on
        assert (row["inner_offset"] is None) is (style.compression == "NONE")
        if style.compression == "NONE":
            assert row["offset"] == row["entry_offset"] + went_wrong
        else:
            assert row["offset"] == row["entry_offset"]


def test_a_fault_of_the_checksum_file_names_that_file(tmp_path: Path) -> None:
    where = put_map_file(tmp_path, in_style(Style()))
    sums = bytearray((where / ".data.crc").read_bytes())
    sums[8] ^= 1
    (where / ".data.crc").write_bytes(bytes(sums[:-2]) + sums[-2:])
    _, rejects, account = scanned(open_source(str(tmp_path)))
    (fault,) = (row for row in rejects if row["scope"] == "structure")
    assert (fault["code"], fault["uri"].rsplit("/", 1)[1], fault["offset"]) == ("crc_mismatch", "data", 0)
    assert account.faults == 1
    (where / ".data.crc").write_bytes(b"none" + bytes(sums[4:]))
    _, rejects, _ = scanned(open_source(str(tmp_path)))
    (fault,) = (row for row in rejects if row["scope"] == "structure")
    assert (fault["code"], fault["uri"].rsplit("/", 1)[1]) == ("crc_file_bad", ".data.crc")
