"""What a folder of objects is taken for: copies, which one is scanned, and the finding of each thing that is wrong."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pulsar_backlog.cluster.values import LedgerRecord
from pulsar_backlog.errors import UsageError
from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.tables import ledgers as ledgers_table
from tests.ledgers.encoding import OTHER_UUID, UUID, Offloaded, header, index, metadata, offload
from tests.ledgers.sources import Seen, put, see, whole
from tests.places import reached_by_all

BODIES = [bytes([65 + n]) * size for n, size in enumerate((40, 0, 300, 7, 111, 260, 1, 90, 200, 33))]
SIZE = sum(map(len, BODIES))
ONE_BLOCK = offload(BODIES)
BLOCKS = offload(BODIES, block_bytes=700)
NAMED = [(first, part, at) for part, (first, at) in enumerate(zip(BLOCKS.first_ids, BLOCKS.offsets, strict=True), 1)]
META = metadata(SIZE, len(BODIES) - 1)


def with_index(stored: Offloaded, new: bytes) -> Offloaded:
    return Offloaded(stored.data, new, stored.offsets, stored.first_ids, stored.entries)


def with_data(stored: Offloaded, new: bytes) -> Offloaded:
    return Offloaded(new, stored.index, stored.offsets, stored.first_ids, stored.entries)


def structure_codes(seen: Seen) -> list[str]:
    return [fault.code for fault in seen.copy().structure_faults]


def test_empty_folder(tmp_path: Path) -> None:
    seen = see(tmp_path)
    assert seen.inventory.copies == []
    assert seen.codes() == {"S01": [str(tmp_path)]}


@pytest.mark.parametrize(
    "source",
    [
        "/no/such/folder",
        "",
        "hdfs://host/x",
        "abfss://box",
        "abfss://box@account",
        "s3://key@bucket",
        "s3://",
        __file__,
    ],
)
def test_no_source(source: str) -> None:
    with pytest.raises(UsageError, match=r"folder|bucket") as caught:
        take_inventory(open_source(source))
    assert repr(source) in str(caught.value)


def test_whole_tree_with_foreign_objects(tmp_path: Path) -> None:
    put(tmp_path / "a" / "jcloud", ONE_BLOCK)
    put(tmp_path / "b", BLOCKS, ledger_id=8)
    (tmp_path / "README.md").write_text("notes")
    # Names that are nearly right, or hostile.
    for name in (
        f"{UUID}-ledger-07",
        f"{UUID}-ledger-9-index2",
        f"{UUID}-ledger-9999999999999999999",
        "a\nb",
        "ü %2F",
    ):
        (tmp_path / name).write_text("?")
    (tmp_path / os.fsdecode(b"\xff\xfe")).write_text("?")
    seen = see(tmp_path)
    assert seen.codes() == {"S03": ["foreign"]}
    [foreign] = seen.inventory.findings
    assert (foreign.count, len(foreign.evidence)) == (7, 5)
    assert all("\n" not in example for example in foreign.evidence)
    assert seen.entries == {7: whole(ONE_BLOCK), 8: whole(BLOCKS)}
    assert seen.copy(7).data_uri == f"a/jcloud/{UUID}-ledger-7"
    row = seen.copy(8).row("lab")
    assert list(row) == [column.name for column in ledgers_table.TABLE.columns]
    assert (row["block_count"], row["topic"]) == (len(BLOCKS.offsets), "persistent://tenant/space/topic")


def test_objects_named_as_those_of_streaming_offload(tmp_path: Path) -> None:
    put(tmp_path, ONE_BLOCK)
    (tmp_path / UUID).write_bytes(bytes.fromhex("26A66D32") + bytes(200))
    (tmp_path / f"{UUID}-index").write_bytes(bytes.fromhex("3D1FB0BC") + bytes(200))
    (tmp_path / OTHER_UUID).write_bytes(b"something else")
    seen = see(tmp_path)
    counts = {(finding.code, finding.subject): finding.count for finding in seen.inventory.findings}
    # Of streaming offload, and nothing in them can be read: tests/ledgers/streaming has those where something can.
    assert counts == {("S08", f"{UUID}-index"): 1, ("S12", UUID): 1, ("S03", "foreign"): 1}


def test_index_without_data(tmp_path: Path) -> None:
    put(tmp_path, ONE_BLOCK)[0].unlink()
    put(tmp_path, BLOCKS, ledger_id=8)
    seen = see(tmp_path)
    assert seen.codes() == {"S04": ["7"]}
    copy = seen.copy()
    assert (copy.selected, copy.status, copy.faults, copy.data_uri) == (False, "unreadable", ("S04",), None)
    assert copy.expected_entries == len(BODIES)
    assert seen.entries == {8: whole(BLOCKS)}


@pytest.mark.parametrize("stored", [ONE_BLOCK, BLOCKS])
def test_data_without_index(tmp_path: Path, stored: Offloaded) -> None:
    put(tmp_path, stored)[1].unlink()
    seen = see(tmp_path)
    assert seen.codes() == {"S05": ["7"], "S18": ["7"]}
    assert (seen.copy().selected, seen.copy().status, seen.copy().expected_entries) == (True, "damaged", None)
    assert seen.entries[7] == whole(stored)
    assert seen.faults[7] == []
    assert [block.offset for block in seen.copy().blocks] == list(stored.offsets)
    assert seen.copy().blocks[-1].entry_count is None


def test_data_without_index_gets_its_topic_from_elsewhere(tmp_path: Path) -> None:
    put(tmp_path, ONE_BLOCK)[1].unlink()
    inventory = take_inventory(open_source(str(tmp_path)), topics_of_ledgers={7: "persistent://a/b/c"})
    assert [(copy.topic, copy.managed_ledger) for copy in inventory.copies] == [("persistent://a/b/c", None)]
    assert [finding.code for finding in inventory.findings] == ["S05"]


@pytest.mark.parametrize(
    ("at", "new", "read"),
    [
        (0, b"\0", 10),  # magic: the first entry's own header makes up for it
        (12, b"\x7f", 10),  # block length beyond the object: the rest is one block, entries end at the next header
        (20, b"\x7f", 10),  # first entry id: the ids stored with the entries go on
    ],
)
def test_data_without_index_and_a_damaged_second_header(tmp_path: Path, at: int, new: bytes, read: int) -> None:
    data = bytearray(BLOCKS.data)
    data[BLOCKS.offsets[1] + at : BLOCKS.offsets[1] + at + 1] = new
    put(tmp_path, with_data(BLOCKS, bytes(data)))[1].unlink()
    seen = see(tmp_path)
    assert {"S05", "S12"} <= set(seen.codes())
    assert seen.entries[7][: BLOCKS.first_ids[1]] == whole(BLOCKS)[: BLOCKS.first_ids[1]]
    assert seen.entries[7] == whole(BLOCKS)[: len(seen.entries[7])]
    assert len(seen.entries[7]) == (read if at != 12 else BLOCKS.first_ids[2])


def test_zeros_without_index(tmp_path: Path) -> None:
    put(tmp_path, with_data(ONE_BLOCK, bytes(5000)))[1].unlink()
    seen = see(tmp_path)
    assert seen.entries[7] == []
    assert {"S05", "S12"} <= set(seen.codes())
    assert seen.copy().status == "unreadable"


@pytest.mark.parametrize("size", [0, 3, 31, 32, 50, len(BLOCKS.index) - 1])
def test_index_cut_short(tmp_path: Path, size: int) -> None:
    put(tmp_path, with_index(BLOCKS, BLOCKS.index[:size]))
    seen = see(tmp_path)
    assert seen.codes() == {"S08": ["7"], "S18": ["7"]}
    assert structure_codes(seen) == ["index_too_short"]
    assert seen.entries[7] == whole(BLOCKS)


@pytest.mark.parametrize(
    ("new", "code", "fault"),
    [
        (b"\xde\x47\xde\x48" + BLOCKS.index[4:], "S08", "index_bad_magic"),
        (BLOCKS.index[:24] + b"\x7f\xff\xff\xff" + BLOCKS.index[28:], "S08", "index_too_short"),
        (BLOCKS.index[:24] + b"\xff\xff\xff\xff" + BLOCKS.index[28:], "S08", "index_bad_length"),
        (BLOCKS.index[:28] + b"\x80\0\0\0" + BLOCKS.index[32:], "S08", "index_bad_length"),
        (BLOCKS.index[:4] + b"\0\0\0\0" + BLOCKS.index[8:], "S09", "index_bad_length"),
        (BLOCKS.index + b"\0", "S09", "index_trailing_bytes"),
        (index(len(BLOCKS.data), META, NAMED, header_length=127), "S09", "index_bad_length"),
        (index(len(BLOCKS.data), b"\xff\xff\xff", NAMED), "S09", "ledger_metadata_undecodable"),
        (index(len(BLOCKS.data), META, [NAMED[1], NAMED[0], *NAMED[2:]]), "S09", "index_bad_order"),
        (index(len(BLOCKS.data), META, [(1, 1, 0), *NAMED[1:]]), "S09", "index_bad_order"),
        (index(len(BLOCKS.data), META, [*NAMED[:-1], (9, NAMED[-1][1], 2**62)]), "S09", "block_beyond_end"),
        # Blocks that make sense by themselves but are not the data's: only the headers tell.
        (index(len(BLOCKS.data), META, [NAMED[0], (4, 2, 600), *NAMED[2:]]), "S09", None),
        (index(len(BLOCKS.data), META, NAMED[:-1]), "S09", None),
        (index(len(BLOCKS.data) + 5000, META, NAMED), "S09", None),
        (index(len(BLOCKS.data), metadata(SIZE, len(BODIES) + 50), NAMED), "S13", None),
        (index(len(BLOCKS.data), metadata(SIZE + 5000, len(BODIES) - 1), NAMED), "S13", None),
        (index(len(BLOCKS.data), metadata(SIZE, 4), NAMED), "S09", None),
        (index(len(BLOCKS.data), metadata(SIZE, None), NAMED), "S09", None),
        (index(len(BLOCKS.data), metadata(SIZE, 2**63 - 1), NAMED), "S09", None),
        (index(len(BLOCKS.data), metadata(-5, -7), NAMED), "S09", None),
    ],
)
def test_wrong_index(tmp_path: Path, new: bytes, code: str, fault: str | None) -> None:
    put(tmp_path, with_index(BLOCKS, new))
    put(tmp_path, ONE_BLOCK, ledger_id=8)
    seen = see(tmp_path)
    assert seen.codes()[code] == ["7"]
    assert set(seen.codes()) <= {code, "S18"}
    assert structure_codes(seen)[:1] == ([fault] if fault else [])
    assert {seen.copy().uri_of(found) for found in seen.copy().structure_faults} <= {seen.copy().index_uri}
    assert seen.copy().status == "damaged"
    assert seen.entries == {7: whole(BLOCKS), 8: whole(ONE_BLOCK)}


def test_ledger_length_of_one_block(tmp_path: Path) -> None:
    put(tmp_path, with_index(ONE_BLOCK, index(len(ONE_BLOCK.data), metadata(SIZE - 1, len(BODIES) - 1), [(0, 1, 0)])))
    assert see(tmp_path).codes() == {"S14": ["7"]}


@pytest.mark.parametrize("stored", [ONE_BLOCK, BLOCKS])
def test_any_flipped_bit_of_an_index(tmp_path: Path, stored: Offloaded) -> None:
    """A decoded index or a finding, never an exception, and the data is read all the same."""
    _, index_path = put(tmp_path, stored)
    for bit in range(8 * len(stored.index)):
        flipped = bytearray(stored.index)
        flipped[bit // 8] ^= 1 << bit % 8
        index_path.write_bytes(flipped)
        seen = see(tmp_path)
        assert seen.entries[7] == whole(stored), bit
        in_metadata = 32 <= bit // 8 < 32 + len(META)  # where another number may be as good
        assert in_metadata or seen.copy().status == "damaged", bit


def test_more_data_than_the_index_knows(tmp_path: Path) -> None:
    # The offloader's fault when an entry is larger than a block: the index names a last block of padding only, which
    # the data length does not count, and the entries from there on are nowhere.
    last = header(700, 8) + b"\xfe\xdc\xde\xad" * 143
    data = BLOCKS.data[: BLOCKS.offsets[-1]] + last
    named = [*NAMED[:-1], (NAMED[-1][0], NAMED[-1][1], BLOCKS.offsets[-1])]
    assert NAMED[-1][0] == 8
    put(tmp_path, with_data(with_index(BLOCKS, index(BLOCKS.offsets[-1], META, named)), data))
    seen = see(tmp_path)
    assert set(seen.codes()) == {"S09", "S11", "S13"}
    assert seen.entries[7] == whole(BLOCKS)[:8]
    assert [(fault.code, fault.expected, fault.found) for fault in seen.faults[7]] == [
        ("block_entry_count", "2 entries", "0 entries")
    ]


def broker(**known: object) -> dict[int, LedgerRecord]:
    said: dict[str, object] = {
        "ledger_id": 7,
        "topic": "persistent://tenant/space/topic",
        "uuid": None,
        "complete": True,
        "entries": len(BODIES),
        "size_bytes": SIZE,
        "closed_time_ms": 5,
    }
    return {7: LedgerRecord(**(said | known))}  # type: ignore[arg-type]


def test_several_attempts(tmp_path: Path) -> None:
    put(tmp_path, ONE_BLOCK)
    put(tmp_path, ONE_BLOCK, uuid=OTHER_UUID)[1].unlink()  # a failed attempt: its data, no index
    inventory = take_inventory(open_source(str(tmp_path)))
    assert [(copy.copy, copy.selected, copy.status, copy.faults) for copy in inventory.copies] == [
        (UUID, True, "ok", ("S06",)),
        (OTHER_UUID, False, "spare", ("S05", "S06")),
    ]
    assert [(finding.code, finding.subject) for finding in inventory.findings] == [("S06", "7")]
    assert "S05" in inventory.findings[0].message


def test_the_copy_that_the_broker_names_is_scanned(tmp_path: Path) -> None:
    put(tmp_path, ONE_BLOCK)
    put(tmp_path, ONE_BLOCK, uuid=OTHER_UUID)[1].unlink()
    source = open_source(str(tmp_path))
    inventory = take_inventory(source, broker_copies=broker(uuid=OTHER_UUID))
    assert [(copy.copy, copy.selected, copy.offload_complete) for copy in inventory.copies] == [
        (UUID, False, False),
        (OTHER_UUID, True, True),
    ]
    unfinished = take_inventory(source, broker_copies=broker(uuid=OTHER_UUID, complete=False))
    assert [copy.selected for copy in unfinished.copies] == [True, False]


def test_the_longest_of_damaged_copies_is_scanned(tmp_path: Path) -> None:
    put(tmp_path, with_data(ONE_BLOCK, ONE_BLOCK.data[:500]))
    put(tmp_path, with_data(ONE_BLOCK, ONE_BLOCK.data[:900]), uuid=OTHER_UUID)
    seen = see(tmp_path)
    assert [(copy.copy, copy.selected) for copy in seen.inventory.copies] == [(UUID, False), (OTHER_UUID, True)]
    assert seen.codes() == {"S06": ["7"], "S10": ["7"]}


def test_a_copy_that_agrees_is_scanned_rather_than_a_longer_one(tmp_path: Path) -> None:
    put(tmp_path, with_data(ONE_BLOCK, ONE_BLOCK.data + b"surplus"))
    put(tmp_path, ONE_BLOCK, uuid=OTHER_UUID)
    seen = see(tmp_path)
    assert [(copy.copy, copy.selected) for copy in seen.inventory.copies] == [(UUID, False), (OTHER_UUID, True)]
    assert seen.codes() == {"S06": ["7"]}


def test_copies_that_promise_different_things(tmp_path: Path) -> None:
    put(tmp_path, ONE_BLOCK)
    put(tmp_path, offload(BODIES[:3]), uuid=OTHER_UUID)
    seen = see(tmp_path)
    assert seen.codes() == {"S06": ["7"], "S07": ["7"]}
    assert "entries, bytes" in seen.inventory.findings[1].message


def test_one_attempt_in_two_folders(tmp_path: Path) -> None:
    put(tmp_path / "a", ONE_BLOCK)
    put(tmp_path / "b", ONE_BLOCK)
    inventory = take_inventory(open_source(str(tmp_path)), broker_copies=broker(uuid=UUID))
    assert [(copy.copy, copy.selected) for copy in inventory.copies] == [(UUID, True), (f"{UUID}#2", False)]
    assert [finding.code for finding in inventory.findings] == ["S06"]


@pytest.mark.parametrize(
    ("known", "codes"),
    [
        ({}, []),
        ({"entries": None, "size_bytes": None}, []),
        ({"entries": len(BODIES) + 1}, ["S20"]),
        ({"size_bytes": SIZE - 1}, ["S20"]),
        ({"topic": "persistent://tenant/space/other"}, ["S20"]),
        ({"uuid": OTHER_UUID, "entries": 1}, []),  # it speaks of a copy that is not here
    ],
)
def test_what_the_broker_says(tmp_path: Path, known: dict[str, object], codes: list[str]) -> None:
    put(tmp_path, ONE_BLOCK)
    inventory = take_inventory(open_source(str(tmp_path)), broker_copies=broker(**known))
    assert [finding.code for finding in inventory.findings] == codes
    [copy] = inventory.copies
    assert copy.closed_time_ms == 5
    assert copy.offload_complete is ("uuid" not in known)


def test_links_and_pipes(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(root / "here", ONE_BLOCK)
    put(tmp_path / "elsewhere", BLOCKS, ledger_id=8)
    (root / "here" / "loop").symlink_to(root)
    (root / "linked").symlink_to(tmp_path / "elsewhere")
    (root / "itself").symlink_to(root / "itself")
    os.mkfifo(root / f"{UUID}-ledger-9")
    seen = see(root)
    assert seen.entries == {7: whole(ONE_BLOCK), 8: whole(BLOCKS)}
    [finding] = seen.inventory.findings
    assert (finding.code, finding.subject, finding.incomplete) == ("S02", str(root / "itself"), True)


UNPRIVILEGED = textwrap.dedent(
    """
    import os, sys
    sys.path[:0] = ["lib", "."]
    from tests.ledgers.sources import see
    from pathlib import Path
    see(Path("tests/data/ledgers"))  # whoever may not read the interpreter's files has what he needs now
    os.setgid(65534); os.setuid(65534)
    seen = see(Path(sys.argv[1]))
    print([(f.code, Path(f.subject).name, f.incomplete) for f in seen.inventory.findings])
    print({ledger: len(entries) for ledger, entries in seen.entries.items()})
    print([(copy.ledger_id, copy.status) for copy in seen.inventory.copies])
    """
)


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become somebody who may not read")
def test_permission_denied(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("root")
    put(root, ONE_BLOCK)
    put(root, ONE_BLOCK, ledger_id=8)[1].chmod(0)  # its index
    put(root, BLOCKS, ledger_id=9)[0].chmod(0)  # its data
    put(root / "closed", ONE_BLOCK, ledger_id=10)
    (root / "closed").chmod(0)
    reached_by_all(root)
    repository = Path(__file__).parents[2]
    ran = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, str(root)], cwd=repository, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    findings, entries, statuses = map(eval, ran.stdout.splitlines())
    assert findings == [("S02", "closed", True), ("S02", "8", True), ("S18", "8", False), ("S02", "9", True)]
    assert entries == {7: len(BODIES), 8: len(BODIES), 9: 0}
    assert statuses == [(7, "ok"), (8, "damaged"), (9, "unreadable")]
