"""Whose word counts for the limits of a broker: the user's, its saved settings', its version's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from pyroaring import BitMap

from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.saved_settings import SavedSettings
from pulsar_backlog.cursors.acked import AckedSet
from pulsar_backlog.cursors.newest import Sighting, newest
from pulsar_backlog.cursors.predict import Limits, predict
from pulsar_backlog.subscriptions.analysed import Analysed
from pulsar_backlog.subscriptions.findings import findings_of_state
from pulsar_backlog.subscriptions.limits import LimitsFrom, limits_from, limits_of

RANGES, BATCHES = "managedLedgerMaxUnackedRangesToPersist", "managedLedgerMaxBatchDeletedIndexToPersist"
IN_STORE, LONGS = f"{RANGES}InMetadataStore", "managedLedgerPersistIndividualAckAsLongArray"
OF_5 = Limits(ranges=200_000, batch_entries=200_000, metadata_store_ranges=200_000)


def saved(version: object = None, **settings: object) -> SavedSettings:
    found = SavedSettings()
    found.add({"snapshotKind": "cluster", "version": version, "settings": settings})
    return found


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (None, Limits()),
        ("4.2.4", Limits()),
        ("4.1.0", Limits()),
        ("4.0.8", Limits(long_array=False)),
        ("2.8.1", Limits(long_array=False)),
        ("5.0.0", OF_5),
        ("5.0.0-M1", OF_5),
        ("5.1.0", OF_5),
        (5, Limits()),  # no version at all
        ("latest", Limits()),
    ],
)
def test_defaults_of_a_version(version: object, expected: Limits) -> None:
    assert limits_of(saved(version), None, None) == expected


def test_settings_count_before_the_version_and_the_user_before_both() -> None:
    one = saved("4.2.4", **{RANGES: "200000", BATCHES: "7", IN_STORE: "0", LONGS: "false"})
    known = Limits(ranges=200_000, batch_entries=7, metadata_store_ranges=0, long_array=False)
    assert limits_of(one, None, None) == known
    assert limits_of(one, 3, 4) == Limits(ranges=3, batch_entries=4, metadata_store_ranges=0, long_array=False)


@pytest.mark.parametrize("value", ["", "many", None, True, "1e3", "9" * 30])
def test_a_setting_that_is_no_number_is_not_known(value: object) -> None:
    assert limits_of(saved("4.2.4", **{RANGES: value, LONGS: value}), None, None).ranges == 10_000


def test_a_folder(tmp_path: Path) -> None:
    body: dict[str, Any] = {"snapshotKind": "cluster", "version": "5.0.0", "settings": {RANGES: "150000"}}
    (tmp_path / "cluster.json").write_text(json.dumps(body))
    assert limits_of(read_cluster_state(tmp_path, {}).settings, None, None).ranges == 150_000


@pytest.mark.parametrize(
    ("one", "named", "expected"),
    [
        (saved(), (None, None), "assumed"),
        (saved("latest", **{BATCHES: "many"}), (None, None), "assumed"),
        (saved(**{RANGES: 5}), (None, None), "assumed"),  # nothing says how many batch states
        (saved(**{RANGES: 5}), (None, 7), "settings"),
        (saved(**{RANGES: 5, BATCHES: 5}), (None, None), "settings"),
        (saved("4.2.4", **{RANGES: 5}), (None, None), "version"),
        (saved("5.0.0"), (None, None), "version"),
        (saved("4.2.4", **{RANGES: 5}), (3, 4), "options"),
    ],
)
def test_whose_word_limits_are(one: SavedSettings, named: tuple[int | None, int | None], expected: LimitsFrom) -> None:
    assert limits_from(one, *named) == expected


@pytest.mark.parametrize("source", get_args(LimitsFrom))
def test_what_the_next_persist_drops_cannot_be_told_by_limits_that_are_assumed(source: LimitsFrom) -> None:
    """A broker of 5.0 keeps twenty times as many."""
    state = AckedSet((7, 0), {7: BitMap(range(2, 12_000, 2)), 8: BitMap(range(0, 12_000, 2)), 9: BitMap([1])})
    of_memory = newest([Sighting("stats_internal", "f", acked=state, whole=True)])
    one = Analysed("persistent://t/n/a", "s", of_memory, predict(of_memory, Limits(), {}), None)
    (found,) = [each for each in findings_of_state(one, {}, source) if each.code == "K01"]
    assert (found.sureness == "cannot_tell", "are assumed" in found.reason) == (source == "assumed",) * 2
