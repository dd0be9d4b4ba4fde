"""What a real broker stores of a chunked message that an application sends again under deduplication."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import google_crc32c
import pulsar

from pulsar_backlog.chunks.fold import fold_family
from pulsar_backlog.chunks.rows import ChunkRow, FamilyFold
from tests.broker.conftest import Admin, topic_path
from tests.broker.process import Broker
from tests.broker.sealed import Raw, parts_of, raw_of
from tests.chunks.build import edge

PAYLOAD = os.urandom(150_000)  # three chunks


def send_again(client: pulsar.Client, topic: str, sends: Sequence[tuple[int, bytes]]) -> None:
    """Each send by a producer of its own that bears the same name, with this sequence id."""
    for sequence_id, payload in sends:
        producer = client.create_producer(
            topic, producer_name="fixed", batching_enabled=False, chunking_enabled=True, initial_sequence_id=0
        )
        producer.send(payload, sequence_id=sequence_id)
        producer.close()


def folded(entries: Sequence[Raw], *, deduplicated: bool) -> dict[str, FamilyFold]:
    """The verdict on each uuid of a log that goes on for an hour after it."""
    rows: dict[str, list[ChunkRow]] = {}
    for (ledger_id, entry_id), body in entries:
        said, payload = parts_of(body)
        uuid = said.uuid.decode() if isinstance(said.uuid, bytes) else said.uuid
        rows.setdefault(uuid, []).append(
            ChunkRow(
                ledger_id, entry_id, uuid, said.publish_time, said.chunk_id, said.num_chunks_from_msg,
                said.total_chunk_msg_size, "object", 0, len(payload), google_crc32c.value(payload), "valid", "fixed",
                said.sequence_id, None, said.uncompressed_size, False, None, 0, said.publish_time,
            )
        )  # fmt: skip
    end_ms = max(row.publish_time_ms for own in rows.values() for row in own) + 3_600_000
    last, first = {"fixed": entries[-1][0]}, entries[0][0][0]
    at = edge(end_time_ms=end_ms, producer_last=last, first_ledger_id=first, deduplicated=deduplicated)
    return {uuid: fold_family(own, at) for uuid, own in rows.items()}


def deduplicating(admin: Admin, topic: str) -> None:
    admin.request("PUT", topic_path(topic))
    admin.post(topic, "deduplicationEnabled", True)
    deadline = time.monotonic() + 30
    while admin.get(topic, "stats")["deduplicationStatus"] != "Enabled":  # the policy is there before it is in force
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_resend_under_deduplication_leaves_all_chunks_but_the_last(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str
) -> None:
    deduplicating(admin, topic)
    send_again(client, topic, [(5, PAYLOAD), (5, PAYLOAD), (6, PAYLOAD[::-1])])
    entries = raw_of(broker, admin, topic)
    ids = [(parts_of(body)[0].sequence_id, parts_of(body)[0].chunk_id) for _, body in entries]
    assert ids == [(5, 0), (5, 1), (5, 2), (5, 0), (5, 1), (6, 0), (6, 1), (6, 2)]
    verdicts = folded(entries, deduplicated=True)
    whole, rest = verdicts["fixed-5"].publications
    assert (whole.state, whole.flags) == ("whole", ())
    assert (rest.state, rest.flags, rest.sureness) == ("orphan_prefix", ("resend_residue",), "certain")
    (other,) = verdicts["fixed-6"].publications
    assert (other.state, other.flags) == ("whole", ())


def test_other_content_under_a_number_that_was_used_is_lost(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str
) -> None:
    deduplicating(admin, topic)
    send_again(client, topic, [(5, PAYLOAD), (5, PAYLOAD[::-1]), (6, PAYLOAD)])
    whole, lost = folded(raw_of(broker, admin, topic), deduplicated=True)["fixed-5"].publications
    assert (whole.state, lost.state, lost.sureness) == ("whole", "orphan_prefix", "certain")
    assert lost.flags == ("uuid_reused",)
