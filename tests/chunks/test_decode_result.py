"""What the payload check changes on a publication."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pulsar_backlog.chunks.decode import with_decode_result
from tests.chunks.build import only, rows


@pytest.mark.parametrize(("decode_state", "flag"), [("fault", "decode_fault"), ("wrong_size", "sizes_lie")])
def test_a_payload_that_does_not_decode_cannot_be_rebuilt(decode_state: Any, flag: str) -> None:
    before = only(rows("0 0 1 2 3", compression="ZSTD"))
    after = with_decode_result(before, decode_state, "4 bytes short")
    assert after.flags == tuple(sorted(["repeated_prefix", flag]))
    assert not after.rebuildable
    assert after.manifest == ()
    assert after.reason.startswith("4 bytes short; ")
    assert (after.state, after.sureness) == (before.state, before.sureness)


@pytest.mark.parametrize("decode_state", ["ok", "encrypted", "not_needed", "not_checked"])
def test_any_other_outcome_is_only_written_down(decode_state: Any) -> None:
    before = only(rows("0 1 2 3", compression="ZSTD"))
    assert with_decode_result(before, decode_state, "") == replace(before, decode_state=decode_state)


def test_an_unknown_outcome_is_refused() -> None:
    bad: Any = "fine"
    with pytest.raises(ValueError, match="fine"):
        with_decode_result(only(rows("0 1 2 3")), bad, "")
