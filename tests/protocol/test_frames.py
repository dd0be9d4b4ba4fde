"""Frames that bring entries, found by the loop; protobuf's own parser is the oracle."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest

from pulsar_backlog.protocol import frames
from pulsar_backlog.protocol.frames import find_messages
from pulsar_backlog.wire.proto.broker_commands_pb2 import BaseCommand, CommandMessage, CommandPong, MessageIdData
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata
from tests.wire.encode import entry

PONG = BaseCommand(type=BaseCommand.PONG, pong=CommandPong()).SerializeToString()
BIG = 2**62
NO_PARTITION = b"\x18" + b"\xff" * 9 + b"\x01"
"""Field 3 of a position: -1, in ten bytes."""


def framed(command: bytes, more: bytes = b"") -> bytes:
    return struct.pack(">ii", 4 + len(command) + len(more), len(command)) + command + more


def message(ledger_id: int, entry_id: int, data: bytes, odd: bytes = b"") -> bytes:
    """A frame as brokers send it; `odd` stands for fields of CommandMessage that we do not know."""
    position = MessageIdData(ledgerId=ledger_id, entryId=entry_id)
    position.MergeFromString(NO_PARTITION)
    command = CommandMessage(consumer_id=1, message_id=position)
    command.MergeFromString(odd)
    return framed(BaseCommand(type=BaseCommand.MESSAGE, message=command).SerializeToString(), data)


def batch_of(count: int, broker: bytes = b"", checksum: bool = True) -> bytes:
    metadata = MessageMetadata(producer_name=b"p", sequence_id=1, publish_time=BIG)
    metadata.num_messages_in_batch = count
    head = metadata.SerializeToString()
    rest = struct.pack(">I", len(head)) + head + b"payload"
    data = b"\x0e\x01\0\0\0\0" + rest if checksum else rest
    return b"\x0e\x02" + struct.pack(">I", len(broker)) + broker + data if broker else data


def found(data: bytes, room: int = 100) -> tuple[list[tuple[int, ...]], int]:
    """Each message's row with its bytes in place of where they lie, compiled and interpreted; where it ended."""
    buffer = np.frombuffer(data, dtype=np.uint8)
    both = []
    for form in (find_messages.compiled, find_messages.interpreted):
        rows = np.zeros((frames.COLUMNS, room), dtype=np.int64)
        count, end = form(buffer, rows)
        both.append(([tuple(one) for one in rows[:, :count].T.tolist()], end))
    assert both[0] == both[1]
    return both[0]


def test_messages_up_to_another_frame() -> None:
    unknown = b"\x18\x05" + b"\x2a\x03abc" + b"\x31" + b"x" * 8 + b"\x3d" + b"y" * 4  # one of each plain wire type
    datas = [entry(payload=b"one"), batch_of(7), batch_of(300, broker=b"\x10\x05"), batch_of(9, checksum=False), b""]
    sent = b"".join(message(5 + n, BIG - n, data, unknown if n == 1 else b"") for n, data in enumerate(datas))
    rows, end = found(sent + framed(PONG) + message(9, 9, b""))
    assert end == len(sent)
    assert [(row[frames.LEDGER], row[frames.ENTRY], row[frames.MESSAGES]) for row in rows] == [
        (5 + n, BIG - n, count) for n, count in enumerate([1, 7, 300, 9, 1])
    ]
    assert [sent[row[frames.PLACE] : row[frames.PLACE] + row[frames.LENGTH]] for row in rows] == datas
    assert len(found(sent, room=2)[0]) == 2


def test_every_cut_gives_the_messages_before_it() -> None:
    sent = [message(1, n, batch_of(n + 1)) for n in range(3)]
    ends = np.cumsum([len(one) for one in sent]).tolist()
    for cut in range(len(b"".join(sent)) + 1):
        rows, end = found(b"".join(sent)[:cut])
        assert len(rows) == sum(cut >= one for one in ends)
        assert end == ([0, *ends])[len(rows)]


@pytest.mark.parametrize(
    "command",
    [
        BaseCommand(type=BaseCommand.MESSAGE, message=CommandMessage(consumer_id=1)).SerializePartialToString(),
        b"\x08\x09\x4a\xff\x01\x08\x01",  # a length beyond the end
        b"\x08\x09\x4a\x04\x08\x01\x12\x7f",  # the position's
        b"\x08" + b"\x89" * 10,  # a number without an end
        b"\x08\x09\x4a" + b"\xff" * 9 + b"\x01",  # a length below zero
        b"\x08\x09\x4b\x4c",  # a group
        b"",
    ],
)
def test_what_is_no_message_that_names_a_position(command: bytes) -> None:
    assert found(framed(command, entry())) == ([], 0)


@pytest.mark.parametrize("head", [(-1, 2), (2, 2), (1 << 30, 2), (60, -1), (60, 57)])
def test_sizes_that_make_no_sense(head: tuple[int, int]) -> None:
    assert found(struct.pack(">ii", *head) + message(1, 2, entry())[8:]) == ([], 0)


def test_flipped_bytes_are_read_as_protobuf_reads_them() -> None:
    """Where both find a message, they find the same; nothing is read outside the frame."""
    chance = random.Random(20)
    sent = message(77, 12345, batch_of(40, broker=b"\x10\x05"), b"\x18\x05")
    agreed = 0
    for _ in range(3000):
        damaged = bytearray(sent)
        damaged[chance.randrange(8, len(damaged))] ^= 1 << chance.randrange(8)
        rows, _ = found(bytes(damaged))
        (length,) = struct.unpack(">i", damaged[4:8])
        try:
            command = BaseCommand.FromString(bytes(damaged[8 : 8 + length]))
        except Exception:
            continue
        if command.type == BaseCommand.MESSAGE and rows:
            position = command.message.message_id
            assert rows[0][:2] == (position.ledgerId, position.entryId)
            agreed += 1
    assert agreed > 1000
