"""The zip of a bundle: bounded when it is written, believed in nothing when it is read."""

from __future__ import annotations

import json
import random
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.bundles import explain_bundled
from pulsar_backlog.errors import UsageError
from pulsar_backlog.output import bundle_file
from pulsar_backlog.output.bundle_file import BundleWriter, entry_name, new_bundle, open_bundle
from tests.wire.golden import FOLDER

DATA = (FOLDER / "java-plain-none.37-2.bin").read_bytes()
ABOUT = {
    "position": "1:0", "topic": "t", "uri": "object", "offset": 5, "inner_offset": None, "block_length": None,
    "length": len(DATA), "sha256": "", "payload_offset": 9, "payload_length": 3,
    "checksum": 1, "checksum_state": "valid",
}  # fmt: skip


def written(path: Path, **about: Any) -> Path:
    with new_bundle(path, {"bundle_version": 1, "entries": [{**ABOUT, **about}], "left_out": []}) as bundle:
        bundle.add(entry_name("1:0"), DATA)
    return path


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = written(tmp_path / "a.zip")
    assert path.stat().st_mode & 0o077 == 0, "it is its owner's alone"
    assert explain_bundled(str(path), "1:0", False).data == DATA
    assert path.read_bytes() == written(tmp_path / "b.zip").read_bytes(), "the same contents are the same bytes"
    with pytest.raises(UsageError, match="exists already"):
        written(path)
    with pytest.raises(UsageError, match="does not hold entry 1:1; it holds 1:0"):
        explain_bundled(str(path), "1:1", False)


@pytest.mark.parametrize("position", ["../../x", "1:0/../..", "1", "-1:0", "1:0\n", "\u0661:0", "1:" + "9" * 30])
def test_no_position_makes_a_name_of_its_own(position: str) -> None:
    with pytest.raises(UsageError, match="is not a position"):
        entry_name(position)


def test_what_would_be_too_much_is_not_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle_file, "MAX_BYTES", 1000)
    monkeypatch.setattr(bundle_file, "MAX_MEMBER_BYTES", 400)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        writer = BundleWriter(archive)
        assert writer.fits(400)
        assert not writer.fits(401)
        writer.add("a", bytes(400))
        writer.add("b", bytes(400))
        assert not writer.fits(101)


def test_a_killed_run_leaves_no_half_bundle(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), new_bundle(tmp_path / "a.zip", {}) as bundle:
        bundle.add("a", b"a")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def refused(path: Path, words: str = "is no bundle that can be believed") -> None:
    with pytest.raises(UsageError, match=words):
        explain_bundled(str(path), "1:0", True)


def repacked(path: Path, **members: bytes) -> Path:
    """A bundle of which some members are others, and its manifest knows of it."""
    with zipfile.ZipFile(path) as archive:
        contents = {one.filename: archive.read(one) for one in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**contents, **members}.items():
            archive.writestr(name, data)
    return path


def test_a_bomb_is_not_inflated(tmp_path: Path) -> None:
    bomb = bytes(bundle_file.MAX_MEMBER_BYTES + 1)
    path = repacked(written(tmp_path / "a.zip"), **{"entries/1-0.bin": bomb})
    assert path.stat().st_size < 200_000
    refused(path, "larger than")
    data = bytearray(path.read_bytes())
    size = struct.pack("<L", len(bomb))
    while (at := data.find(size)) >= 0:  # it lies about its size, in both places
        data[at : at + 4] = struct.pack("<L", 100)
    path.write_bytes(data)
    refused(path)


def test_a_directory_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(bundle_file.MAX_MEMBERS + 1):
            archive.writestr(str(number), b"")
    refused(path, "as `bundle` writes it")
    path = written(tmp_path / "zip64.zip")
    data = path.read_bytes()
    path.write_bytes(data[:-22] + b"PK\x06\x07" + bytes(16) + data[-22:])
    refused(path, "as `bundle` writes it")


def test_names_that_lead_elsewhere_are_not_unpacked(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = repacked(written(tmp_path / "in" / "a.zip"), **{"../x": b"x", "/etc/x": b"x", "a\x1b[2J": b"x"})
    explain_bundled(str(path), "1:0", False)
    assert [one.name for one in tmp_path.rglob("*") if one.is_file()] == ["a.zip"]


def test_other_bytes_than_the_manifest_says_are_refused(tmp_path: Path) -> None:
    refused(repacked(written(tmp_path / "a.zip"), **{"entries/1-0.bin": DATA + b"x"}), "its SHA-256 differs")


@pytest.mark.parametrize("about", [
    {"length": "9" * 9}, {"offset": None}, {"inner_offset": 1, "block_length": "x"}, {"payload_length": []},
    {"uri": None, "length": {}},
])  # fmt: skip
def test_a_manifest_of_other_types_is_refused(tmp_path: Path, about: dict[str, Any]) -> None:
    refused(written(tmp_path / "a.zip", **about), "cannot be taken apart")


@pytest.mark.parametrize("manifest", [b"[]", b"{", b'{"bundle_version": 2}', b"[" * 100_000, b"\xff"])
def test_a_manifest_of_no_version_is_refused(tmp_path: Path, manifest: bytes) -> None:
    refused(repacked(written(tmp_path / "a.zip"), **{"manifest.json": manifest}))


def test_damage_anywhere_is_a_sentence(tmp_path: Path) -> None:
    path = written(tmp_path / "a.zip")
    whole, numbers = path.read_bytes(), random.Random(7)
    outcomes = set()
    for at in [*numbers.sample(range(len(whole)), 300), *range(len(whole) - 100, len(whole))]:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << numbers.randrange(8)
        path.write_bytes(damaged)
        outcomes.add(outcome(path))
    for end in range(0, len(whole), 37):
        path.write_bytes(whole[:end])
        assert outcome(path) == "refused"
    assert outcomes == {"explained", "refused"}, "some bits say nothing that is read"


def outcome(path: Path) -> str:
    try:
        model = explain_bundled(str(path), "1:0", False)
    except UsageError:
        return "refused"
    assert model.data == DATA
    return "explained"


def test_it_says_which_entries_it_holds(tmp_path: Path) -> None:
    with open_bundle(str(written(tmp_path / "a.zip"))) as bundle:
        assert bundle.positions() == ["1:0"]
        assert json.loads(bundle.read("manifest.json") or b"")["bundle_version"] == 1
        assert bundle.read("none") is None
