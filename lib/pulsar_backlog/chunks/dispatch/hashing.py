"""Which consumer a key belongs to (Key_Shared), and who is active (Failover): hash rings over names.

    sticky hash      murmur3_32(key) & 0x7fffffff, modulo 65535, plus 1
    ring point       the sticky hash of name NUL index NUL point, for 100 points of each consumer; the first taker stays
    owner of a hash  the consumer of the first ring point at or above it, else of the first of all

Source: ConsistentHashingStickyKeyConsumerSelector, Murmur3_32Hash and
AbstractDispatcherSingleActiveConsumer.pickAndScheduleActiveConsumer of apache/pulsar, 4.0.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache

HASH_RANGE = 65_535
RING_POINTS = 100
_MASK = 0xFFFFFFFF


def murmur3_32(data: bytes) -> int:
    """MurmurHash3, 32 bits, seed 0, without its sign."""
    value, whole = 0, len(data) // 4 * 4
    for start in range(0, whole, 4):
        value ^= _mixed(int.from_bytes(data[start : start + 4], "little"))
        value = (value << 13 | value >> 19) & _MASK
        value = (value * 5 + 0xE6546B64) & _MASK
    if len(data) > whole:
        value ^= _mixed(int.from_bytes(data[whole:], "little"))
    value ^= len(data)
    value = (value ^ value >> 16) * 0x85EBCA6B & _MASK
    value = (value ^ value >> 13) * 0xC2B2AE35 & _MASK
    return (value ^ value >> 16) & 0x7FFFFFFF


def _mixed(block: int) -> int:
    block = block * 0xCC9E2D51 & _MASK
    return ((block << 15 | block >> 17) & _MASK) * 0x1B873593 & _MASK


def sticky_hash(key: str) -> int:
    """Place of a key in the hash range, from 1."""
    return murmur3_32(key.encode()) % HASH_RANGE + 1


@lru_cache(maxsize=256)
def _ring(names: tuple[str, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    points: dict[int, int] = {}
    for place, name in enumerate(names):
        index = names[:place].count(name)
        for point in range(RING_POINTS):
            points.setdefault(sticky_hash(f"{name}\0{index}\0{point}"), place)
    ordered = sorted(points)
    return tuple(ordered), tuple(points[hash_] for hash_ in ordered)


def owner_of(hash_: int, names: Sequence[str]) -> int:
    """Which of the consumers, in order of joining, owns a hash."""
    points, places = _ring(tuple(names))
    at = bisect_left(points, hash_)
    return places[at if at < len(points) else 0]


def active_of(topic: str, names: Sequence[str]) -> int:
    """Which of the consumers is active on a topic without partitions."""
    ring = {murmur3_32(f"{name}{point}".encode()): place for place, name in enumerate(names) for point in range(100)}
    ordered = sorted(ring)
    at = bisect_left(ordered, murmur3_32(topic.encode()))
    return ring[ordered[at if at < len(ordered) else 0]]
