import pytest

from pulsar_backlog.wire.markers import MARKER_KINDS, TXN_ABORT, TXN_COMMIT, is_marker, marker_kind
from tests.wire import golden

# Names and numbers as in PulsarMarkers.proto.
UPSTREAM = {
    10: "REPLICATED_SUBSCRIPTION_SNAPSHOT_REQUEST",
    11: "REPLICATED_SUBSCRIPTION_SNAPSHOT_RESPONSE",
    12: "REPLICATED_SUBSCRIPTION_SNAPSHOT",
    13: "REPLICATED_SUBSCRIPTION_UPDATE",
    20: "TXN_COMMITTING",
    21: "TXN_COMMIT",
    22: "TXN_ABORT",
}


def test_kinds_are_those_of_upstream():
    assert {number: kind.name for number, kind in MARKER_KINDS.items()} == UPSTREAM
    assert len({kind.description for kind in MARKER_KINDS.values()}) == len(UPSTREAM)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("marker-replicated-subscription.23-1.bin", 10),
        ("marker-replicated-subscription.23-2.bin", 11),
        ("marker-replicated-subscription.23-3.bin", 12),
        ("marker-replicated-subscription.23-4.bin", 13),
        ("marker-txn.85-10.bin", TXN_COMMIT),
        ("marker-txn.85-11.bin", TXN_ABORT),
    ],
)
def test_real_markers_reach_no_client(name, number):
    entry, _, _ = golden.read(name)
    assert entry.metadata.marker_type == number
    assert is_marker(entry.metadata.marker_type)
    assert golden.ENTRIES[name]["messages"] == []


def test_a_message_of_a_transaction_is_not_a_marker():
    entry, _, _ = golden.read("java-txn-message.85-1.bin")
    assert entry.metadata.txnid_least_bits is not None
    assert not is_marker(entry.metadata.marker_type)


@pytest.mark.parametrize("number", [0, -1, 14, 99])
def test_the_field_alone_makes_a_marker(number):
    assert is_marker(number)
    assert marker_kind(number).name == f"UNKNOWN({number})"


def test_known_kinds_by_number():
    assert marker_kind(21).name == "TXN_COMMIT"
