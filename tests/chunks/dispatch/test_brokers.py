"""Which model and read batch a cluster has: a row for each source of the word."""

from __future__ import annotations

import pytest

from pulsar_backlog.chunks.dispatch.brokers import broker_for
from pulsar_backlog.chunks.dispatch.forecast import StoredEntry, consumers_of, forecast
from pulsar_backlog.cluster.saved_settings import SavedSettings

BATCH = {"dispatcherMaxReadBatchSize": "50"}


@pytest.mark.parametrize(
    ("version", "values", "line", "expected"),
    [
        ((4, 0), {}, None, ("4.0", "version", (100,), "version")),
        ((4, 1), {}, None, ("4.0", "assumed", (100,), "version")),  # no run of it was recorded
        ((4, 2), {}, None, ("4.2", "version", (100,), "version")),
        ((4, 3), {}, None, ("4.2", "version", (100,), "version")),
        ((5, 0), {}, None, ("5.0", "version", (500,), "version")),
        ((3, 3), {}, None, ("4.0", "assumed", (100,), "version")),
        ((5, 0), BATCH, None, ("5.0", "version", (50,), "settings")),
        (None, BATCH, None, ("4.0", "assumed", (50,), "settings")),
        ((5, 0), {"dispatcherMaxReadBatchSize": "0"}, None, ("5.0", "version", (500,), "version")),
        (None, {}, None, ("4.0", "assumed", (100, 500), "assumed")),
        ((4, 0), BATCH, "5.0", ("5.0", "options", (500,), "options")),  # what if it were another release
    ],
)
def test_whose_word(version: tuple[int, int] | None, values: dict[str, str], line: object, expected: object) -> None:
    found = broker_for(SavedSettings(version, values), line)  # type: ignore[arg-type]
    assert (found.line, found.line_from, found.read_batches, found.batch_from) == expected


def test_in_words() -> None:
    assert broker_for(SavedSettings()).words == (
        "broker 4.0 (assumed: no version that is modelled was saved), reads of 100 or 500 entries at most "
        "(not known: both were played)"
    )
    assert broker_for(SavedSettings((5, 0), BATCH)).words == (
        "broker 5.0, reads of 50 entries at most (as its settings say)"
    )


@pytest.mark.parametrize(("batches", "delivered"), [((50,), (49, 49)), ((500,), (200, 200)), ((100, 500), (99, 200))])
def test_a_batch_that_is_not_known_is_a_set(batches: tuple[int, ...], delivered: tuple[int, int]) -> None:
    entries = [StoredEntry("A", 1, 2, None), *(StoredEntry("", None, None, None) for _ in range(200))]
    consumers = consumers_of("java 4.2", 1000)
    (stage,) = forecast(entries, consumers, (), broker="4.2", dispatch="Shared", read_batches=batches)
    assert stage.delivered == delivered
