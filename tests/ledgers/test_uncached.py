"""Files read past the page cache: the same bytes, and what happens where the system has no such reads."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers import folder, store
from pulsar_backlog.ledgers.read_ahead import ReadAhead
from pulsar_backlog.ledgers.store import Source, open_source
from pulsar_backlog.ledgers.uncached import BLOCK_BYTES, is_uncached, read_uncached

SIZE = 5 * BLOCK_BYTES + 123
RANGE = 2 * BLOCK_BYTES
PLACES = (
    0,
    1,
    BLOCK_BYTES - 1,
    BLOCK_BYTES,
    BLOCK_BYTES + 1,
    3 * BLOCK_BYTES,
    SIZE - 1,
    SIZE,
    SIZE + 1,
    9 * BLOCK_BYTES,
)


@pytest.fixture
def content() -> bytes:
    return np.random.default_rng(3).bytes(SIZE)


@pytest.fixture
def path(tmp_path: Path, content: bytes) -> Path:
    (tmp_path / "object").write_bytes(content)
    return tmp_path / "object"


@pytest.fixture
def source(path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    """The file as if only its first half, which the listing has read, were in the page cache; read by small ranges."""
    monkeypatch.setattr(folder, "RANGE_BYTES", RANGE)
    monkeypatch.setattr(folder, "is_uncached", lambda _, place: place >= SIZE // 2)
    return replace(open_source(str(path.parent)), past_page_cache=True)


@pytest.mark.parametrize("start", PLACES)
def test_any_range_is_read(path: Path, content: bytes, start: int) -> None:
    for end in (place for place in PLACES if place > start):
        part = read_uncached(path, start, end)
        assert part.data.tobytes() == content[start:end]
        assert BLOCK_BYTES <= part.room == part.memory.size - part.data.size


@pytest.mark.parametrize("cut", [0, 1, 700])
def test_a_stretch_is_that_of_the_page_cache(source: Source, content: bytes, cut: int) -> None:
    with source.ahead("object", 5, SIZE) as stretch:
        assert isinstance(stretch, ReadAhead)
        starts = range(5, SIZE, RANGE - cut)
        windows = [stretch.read(start, start + RANGE) for start in starts]
    for start, window in zip(starts, windows, strict=True):
        assert window.tobytes() == content[start : start + RANGE]


def test_a_window_goes_beyond_a_file_that_ends_with_a_range(source: Source, content: bytes) -> None:
    with source.ahead("object", SIZE - 2 * RANGE, SIZE) as stretch:
        assert stretch.read(SIZE - RANGE - 700, SIZE + 10).tobytes() == content[-RANGE - 700 :]


@pytest.mark.parametrize("change", [{"past_page_cache": False}, {}])
def test_who_does_not_ask_for_it_or_wants_few_bytes_reads_through_the_cache(
    source: Source, content: bytes, change: dict[str, Any]
) -> None:
    sparing_bytes = 0 if change else 100
    with replace(source, **change).ahead("object", 0, SIZE, sparing_bytes) as stretch:
        assert not isinstance(stretch, ReadAhead)
        assert stretch.read(0, SIZE).tobytes() == content


def test_a_disk_without_such_reads_is_read_through_the_cache(
    source: Source, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: Any) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "open", refuses)
    with source.ahead("object", 0, SIZE) as stretch:
        assert stretch.read(3, SIZE + 7).tobytes() == content[3:]


def test_a_file_that_went_is_told(source: Source, path: Path) -> None:
    with source.ahead("object", 0, SIZE) as stretch:
        path.unlink()
        with pytest.raises(SourceError) as refused:
            stretch.read(0, SIZE)
    assert refused.value.reason == "not_found"


def test_a_path_outside_the_source_is_told_to_who_reads_it(source: Source) -> None:
    with source.ahead("../object", 0, SIZE) as stretch, pytest.raises(SourceError, match="outside the source"):
        stretch.read(0, SIZE)


def test_a_bucket_is_opened_once(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []

    def bucket_of(*named: object) -> folder.Folder:
        opened.append(named)
        return folder.Folder(Path("/"))

    monkeypatch.setattr(store, "bucket_of", bucket_of)
    for past_page_cache in (False, True):
        Source("s3://opened-once", None, past_page_cache=past_page_cache).uri("object")
    store._opened.cache_clear()
    assert len(opened) == 1


def test_what_was_just_read_is_cached(path: Path) -> None:
    path.read_bytes()
    assert not is_uncached(path, SIZE // 2)
    assert not is_uncached(path.with_name("absent"), 0)


@pytest.mark.parametrize(("code", "answer"), [(errno.EAGAIN, True), (errno.EOPNOTSUPP, False), (errno.EIO, False)])
def test_a_system_says_whether_a_byte_is_cached_or_cannot(
    path: Path, code: int, answer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []

    def preadv(_: int, buffers: Sequence[bytearray], place: int, flags: int) -> int:
        asked.append((place, flags))
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "preadv", preadv)
    assert is_uncached(path, 77) is answer
    assert asked == [(77, os.RWF_NOWAIT)]
