"""A message many times larger than the memory that rebuilding it may take; the full size is in `make bench`."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.huge_message import CHUNK_BYTES, CODECS, rebuild_in_a_process, write_message


@pytest.mark.parametrize("codec", CODECS)
def test_memory_is_a_small_multiple_of_one_chunk(codec: str, tmp_path: Path) -> None:
    written = write_message(tmp_path, codec, 160 << 20)
    found = rebuild_in_a_process(tmp_path, written)
    assert found["verified"]
    assert found["sha256"] == written.sha256
    assert found["grown_bytes"] < 6 * CHUNK_BYTES
