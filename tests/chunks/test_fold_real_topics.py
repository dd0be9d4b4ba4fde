"""The fold against what real brokers stored and what real clients delivered. See tests/data/chunks/README.md."""

from __future__ import annotations

import json
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.chunks.fold import fold_family
from pulsar_backlog.chunks.rows import ChunkRow, FamilyFold, LogEdge, Publication, position

DATA = Path(__file__).parent.parent / "data" / "chunks"
TOPICS = sorted(path.stem for path in DATA.glob("*.json"))
BROKEN = [name for name in TOPICS if ".brk" in name or "kill" in name]
HEALTHY = [name for name in TOPICS if name not in BROKEN]

# (topic, label of the first row) -> state, flags
EXPECTED: dict[tuple[str, str], tuple[str, set[str]]] = {
    # 0 1 of 4, then the producer went on
    ("brk-orphan-prefix", "orphan"): ("orphan_prefix", set()),
    # 0 1 | 0 1 2 3
    ("brk-dup-prefix", "prefix"): ("whole", {"repeated_prefix"}),
    # 0 1 2 | 1 2 3
    ("brk-overlap", "part"): ("whole", {"overlap"}),
    # 0 1 1 1 2 2 3
    ("brk-overlap", "adjacent-dups"): ("whole", {"overlap"}),
    ("brk-out-of-order", "ooo-0213"): ("out_of_order", set()),
    ("brk-out-of-order", "ooo-reverse"): ("out_of_order", set()),
    ("brk-out-of-order", "ooo-1023"): ("out_of_order", set()),
    ("brk-missing", "missing-0"): ("headless", set()),
    ("brk-missing", "missing-2"): ("gap", set()),
    ("brk-missing", "missing-3"): ("orphan_prefix", set()),
    # 0 1 of A, 2 3 of B, one uuid: all three clients delivered A0 A1 B2 B3
    ("brk-franken", "A-prefix"): ("orphan_prefix", {"mixed_with_another_publication", "uuid_reused"}),
    ("brk-franken", "B-tail"): ("headless", {"mixed_with_another_publication", "uuid_reused"}),
    # two of fourteen interleaved messages never got their last chunk
    ("brk-many-pending", "il-3"): ("orphan_prefix", set()),
    ("brk-many-pending", "il-7"): ("orphan_prefix", set()),
    # total 9000 of 8000 bytes: 4 chunks of 2000 are not ceil(9000 / 2000)
    ("brk-meta-lies", "total-too-large"): ("whole", {"sizes_lie", "size_fault"}),
    ("brk2-lie-total-large", "total-too-large"): ("whole", {"sizes_lie", "size_fault"}),
    # total 7000 of 8000 bytes: ceil(7000 / 2000) is still 4
    ("brk-meta-lies", "total-too-small"): ("whole", {"sizes_lie"}),
    ("brk2-lie-total-small", "total-too-small"): ("whole", {"sizes_lie"}),
    # n is 4, 4, 5, 5: four chunks hold all 8000 bytes
    ("brk-meta-lies", "numchunks-4"): ("whole", {"metadata_conflict", "sizes_lie"}),
    # n is 4, 4, 3 with 6000 of 8000 bytes: the fourth chunk is missing
    ("brk2-lie-n-smaller", "n4"): ("orphan_prefix", {"metadata_conflict", "sizes_lie"}),
    # 2000 2000 2000 0, total 6000: an empty slice, and 3 would have done, but it adds up
    ("brk-meta-lies", "zero-length-last"): ("whole", {"size_fault"}),
    ("brk2-lie-zero-last", "zero-length-last"): ("whole", {"size_fault"}),
    # every client delivers a chunk of one as a plain message
    ("brk-meta-lies", "n-equals-1"): ("whole", set()),
    ("brk2-lie-n1", "n-equals-1"): ("whole", set()),
    ("brk-zstd-orphan", "orphan"): ("orphan_prefix", set()),
    ("brk2-batchcount", "nmib-1"): ("malformed", set()),
    # 0 1 2 3 | 0 1 2, the second 3 dropped by broker deduplication
    ("brk2-dedup-residue", "whole"): ("whole", {"prefix_residue"}),
    ("brk2-dup-whole", "whole"): ("whole", {"whole_duplicate"}),
    ("brk2-tail-residue", "whole"): ("whole", {"tail_residue"}),
    ("brk2-tail-orphan", "orphan-at-end"): ("orphan_prefix", set()),
    # payload faults show only when the payload is decoded
    ("brk2-bad-zstd", "not-zstd"): ("whole", set()),
    ("brk3-garbage-lz4", "garbage"): ("whole", set()),
    ("brk3-garbage-snappy", "garbage"): ("whole", set()),
    ("brk3-garbage-zlib", "garbage"): ("whole", set()),
    **{(f"brk3-usize-large-{codec}", "usize+1000"): ("whole", set()) for codec in ("lz4", "snappy", "zstd")},
    **{(f"brk3-usize-small-{codec}", "usize-1000"): ("whole", set()) for codec in ("snappy", "zlib", "zstd")},
    # 0 2 of 3, and 2 of 3
    ("brk4-permit-gap-last", "x"): ("gap", set()),
    ("brk4-permit-headless-last", "x"): ("headless", set()),
}


def load(name: str) -> dict[str, Any]:
    topic: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text())
    topic["rows"] = [ChunkRow(*values[:7], "object", *values[7:]) for values in topic["rows"]]
    return topic


def log_only(topic: dict[str, Any]) -> LogEdge:
    """What the log alone tells: its end is its last entry."""
    return LogEdge(
        end_time_ms=topic["end_time_ms"],
        grace_ms=120_000,
        producer_last={name: tuple(last) for name, last in topic["producer_last"].items()},
        open_ledgers=frozenset(),
        first_ledger_id=min(row.ledger_id for row in topic["rows"]),
        begins_at_start=False,
        absent_ledgers=(),
        has_rejects=False,
        complete_to_end=False,
        producers_gone=False,
    )


def with_admin(topic: dict[str, Any]) -> LogEdge:
    """What saved admin JSON adds: the topic ended long ago, and it begins with the first ledger."""
    admin = topic["admin"]
    made = datetime.fromisoformat(admin["last_ledger_created"])
    return LogEdge(
        end_time_ms=int(made.timestamp() * 1000),
        grace_ms=120_000,
        producer_last={name: tuple(last) for name, last in topic["producer_last"].items()},
        open_ledgers=frozenset(),
        first_ledger_id=admin["ledgers"][0][0],
        begins_at_start=True,
        absent_ledgers=(),
        has_rejects=False,
        complete_to_end=True,
        producers_gone=admin["publishers"] == 0,
    )


def fold_topic(topic: dict[str, Any], edge: LogEdge) -> list[FamilyFold]:
    rows = sorted(topic["rows"], key=lambda row: row.chunk_uuid)
    return [fold_family(list(own), edge) for _, own in groupby(rows, key=lambda row: row.chunk_uuid)]


def by_position(folds: list[FamilyFold]) -> dict[tuple[int, int], Publication]:
    """The publication that each stored chunk belongs to."""
    found = {}
    for folded in folds:
        publications = {publication.publish_time_ms: publication for publication in folded.publications}
        for role in folded.roles:
            found[role.ledger_id, role.entry_id] = publications[role.publish_time_ms]
    return found


def test_all_topics_are_here() -> None:
    assert len(BROKEN) == 32
    assert len(HEALTHY) == 42


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.parametrize("know_admin", [False, True])
def test_a_healthy_topic_raises_no_alarm(name: str, know_admin: bool) -> None:
    topic = load(name)
    edge = with_admin(topic) if know_admin and topic["admin"] else log_only(topic)
    for folded in fold_topic(topic, edge):
        for publication in folded.publications:
            assert publication.state == "whole"
            assert set(publication.flags) <= {"ledger_span"}
            assert publication.rebuildable
            assert publication.sureness == "certain"
        assert {role.role for role in folded.roles} == {"used"}


@pytest.mark.parametrize("name", [name for name in BROKEN if "kill" not in name])
def test_every_broken_set_gets_what_its_label_says(name: str) -> None:
    topic = load(name)
    found = by_position(fold_topic(topic, with_admin(topic)))
    seen: set[int] = set()
    for row, label in zip(topic["rows"], topic["labels"], strict=True):
        publication = found[position(row)]
        if id(publication) in seen:
            continue
        seen.add(id(publication))
        healthy: tuple[str, set[str]] = ("whole", set())
        if label != "healthy" and not label.startswith("il-"):
            assert (name.removeprefix("clients."), label) in EXPECTED
        state, flags = EXPECTED.get((name.removeprefix("clients."), label), healthy)
        assert (publication.state, set(publication.flags)) == (state, flags), label


def test_labels_of_the_table_all_exist() -> None:
    labels = {(name.removeprefix("clients."), label) for name in BROKEN for label in load(name)["labels"] or ()}
    assert set(EXPECTED) <= labels


def test_a_killed_producer_leaves_one_orphan_and_two_whole_messages_under_one_uuid() -> None:
    topic = load("codecs.kill-fixedname")
    (folded,) = fold_topic(topic, with_admin(topic))
    first, second, third = folded.publications
    assert (first.state, first.sureness, first.flags) == ("orphan_prefix", "certain", ("uuid_reused",))
    assert (first.present_chunks, first.missing_chunk_count) == (53, 7)
    assert first.missing_bytes == ((53 * 4000, 240_000),)
    for publication, span in ((second, ((235, 55), (236, 54))), (third, ((236, 56), (237, 55)))):
        assert (publication.state, publication.flags) == ("whole", ("ledger_span", "uuid_reused"))
        assert ends(publication) == span
        assert publication.rebuildable


def test_without_admin_json_a_message_cut_off_by_the_end_may_still_arrive() -> None:
    topic = load("clients.brk2-tail-orphan")
    (folded,) = fold_topic(topic, log_only(topic))
    (publication,) = folded.publications
    assert (publication.state, publication.sureness) == ("in_flight", "cannot_tell")
    (folded,) = fold_topic(topic, with_admin(topic))
    (publication,) = folded.publications
    assert (publication.state, publication.sureness) == ("orphan_prefix", "certain")


def ends(publication: Publication) -> tuple[tuple[int, int], tuple[int, int]]:
    return (
        (publication.first_ledger_id, publication.first_entry_id),
        (publication.last_ledger_id, publication.last_entry_id),
    )


@pytest.mark.parametrize("name", TOPICS)
def test_what_a_client_delivered_whole_is_whole_or_rebuildable_with_its_message_id(name: str) -> None:
    topic = load(name)
    found = by_position(fold_topic(topic, log_only(topic)))
    sent = {(size, sha) for size, sha in topic["sent"]}
    for delivered in topic["delivered"].values():
        for first, last, size, sha in delivered:
            publication = found[tuple(last)]
            if sent and (size, sha) not in sent:
                continue
            assert publication.state == "whole" or publication.rebuildable
            if "whole_duplicate" not in publication.flags:
                assert ends(publication) == (tuple(first), tuple(last))
    if name in HEALTHY:
        clients = [deliveries for deliveries in topic["delivered"].values() if deliveries]
        assert max(map(len, clients)) == len({id(publication) for publication in found.values()})


@pytest.mark.parametrize("name", TOPICS)
def test_a_delivery_that_equals_no_sent_message_is_explained(name: str) -> None:
    topic = load(name)
    found = by_position(fold_topic(topic, log_only(topic)))
    ledger_id = topic["rows"][0].ledger_id
    for _, entry_ids, what, _ in topic["subscriptions_delivered"]:
        publications = {id(found[ledger_id, entry]): found[ledger_id, entry] for entry in entry_ids}.values()
        if len(publications) > 1:
            assert what.startswith("NOT-EQUAL")
            assert all("mixed_with_another_publication" in publication.flags for publication in publications)
        elif what.startswith("NOT-EQUAL") and "usize" not in name:  # those are told by decoding
            assert all(publication.state == "malformed" for publication in publications)


def test_only_the_mixed_topic_is_called_mixed() -> None:
    mixed = set()
    for name in TOPICS:
        topic = load(name)
        for folded in fold_topic(topic, log_only(topic)):
            if any("mixed_with_another_publication" in publication.flags for publication in folded.publications):
                mixed.add(name)
    assert mixed == {"clients.brk-franken"}


def test_encrypted_topics_add_up_without_the_tags() -> None:
    for name in ("codecs.enc-chunk", "clients.enc-two"):
        topic = load(name)
        for folded in fold_topic(topic, log_only(topic)):
            for publication in folded.publications:
                assert publication.encrypted
                assert publication.stored_bytes == publication.total_bytes
                stored = sum(one.length for one in publication.manifest)
                assert stored == publication.total_bytes + 16 * publication.num_chunks
                assert publication.decode_state == "encrypted"
