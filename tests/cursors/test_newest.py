"""Which of several states is the newest, and how sure that is."""

from __future__ import annotations

import pytest
from pyroaring import BitMap

from pulsar_backlog.cursors.acked import AckedSet
from pulsar_backlog.cursors.newest import Sighting, newest
from pulsar_backlog.cursors.recover import Fault, Recovered


def seen(source: str, upto: int, file: str = "", **said: object) -> Sighting:
    """A sighting whose mark-delete is 7:`upto`."""
    acked = said.pop("acked", AckedSet((7, upto)))
    return Sighting(source, file or f"{source}-{upto}", acked, **said)  # type: ignore[arg-type]


LEDGER = seen("cursor_ledger", 10, cursor_ledger_id=30, entry_id=5)


@pytest.mark.parametrize(
    ("others", "chosen", "sureness"),
    [
        pytest.param([seen("stats_internal", 12, cursor_ledger_id=30, entry_id=5)], 12, "certain",
                     id="memory is at least as new as the entry it wrote last"),
        pytest.param([seen("stats_internal", 12, cursor_ledger_id=30, entry_id=4)], 10, "certain",
                     id="the ledger got an entry after the memory was saved"),
        pytest.param([seen("metadata_store", 20, cursor_ledger_id=30, whole=False)], 10, "certain",
                     id="the snapshot of a ledger switch is older, whatever it says"),
        pytest.param([seen("cursor_ledger", 3, cursor_ledger_id=31, entry_id=0)], 3, "certain",
                     id="a newer cursor ledger"),
        pytest.param([seen("metadata_store", 12, exact_ms=5)], 12, "likely", id="a closed cursor that is further"),
        pytest.param([seen("metadata_store", 8, exact_ms=5)], 10, "likely", id="a closed cursor that is behind"),
    ],
)  # fmt: skip
def test_the_newest_of_a_ledger_and_another(others: list[Sighting], chosen: int, sureness: str) -> None:
    for order in ([*others, LEDGER], [LEDGER, *others]):
        found = newest(order)
        assert (found.chosen.acked.mark_delete, found.sureness) == ((7, chosen), sureness)


def test_times_decide_where_no_ledger_does() -> None:
    older, newer = seen("metadata_store", 9, exact_ms=5), seen("info_internal", 4, exact_ms=6)
    found = newest([older, newer])
    assert (found.chosen, found.sureness) == (newer, "certain")
    assert found.differing == (older,)


def test_states_that_contradict_without_order_cannot_be_told() -> None:
    one = seen("metadata_store", 0, acked=AckedSet((7, 0), {7: BitMap([5])}))
    other = seen("info_internal", 0, "x", acked=AckedSet((7, 0), {7: BitMap([6])}))
    assert newest([one, other]).sureness == "cannot_tell"


def test_only_a_snapshot_is_hardly_a_state() -> None:
    found = newest([seen("info_internal", 4, cursor_ledger_id=3, whole=False)])
    assert (found.sureness, found.stored, found.rollback) == ("cannot_tell", None, (7, 4))


def test_an_older_entry_of_a_torn_ledger_is_likely_only() -> None:
    torn = Recovered(None, faults=(Fault(6, "torn", ""),))
    assert newest([seen("cursor_ledger", 3, recovered=torn)]).sureness == "likely"


def test_memory_is_no_stored_state() -> None:
    assert newest([seen("stats_internal", 3)]).stored is None
    assert newest([seen("stats_internal", 12, cursor_ledger_id=30, entry_id=5), LEDGER]).stored == LEDGER
