"""Topic names and the managed-ledger names that storage knows them by.

```
persistent://tenant/namespace/local          tenant/namespace/persistent/<encoded local>
persistent://tenant/cluster/namespace/local  tenant/cluster/namespace/persistent/<encoded local>   (V1)
segment://tenant/namespace/local/SSSS-EEEE-N tenant/namespace/segment/<encoded local>/SSSS-EEEE-N  (5.0)
topic://tenant/namespace/local               none: its segments hold its entries                   (5.0)
```

Only the local name is encoded, by Java's `URLEncoder` in UTF-8: `A-Z a-z 0-9 . - * _` stay, a space becomes
`+`, every other byte `%XX`. A partition is a topic whose local name ends in `-partition-<n>`. A segment is what a
partition was before 5.0: a part of a scalable topic with its own ledgers and cursors. `SSSS-EEEE` is its range of key
hashes, in hexadecimal digits and inclusive, N its id. The local name of a scalable topic may hold slashes.

Five parts of which the third is `segment` are a segment, as brokers of 5.0 read them; a V1 namespace of that name is
not told apart.

Source: https://github.com/apache/pulsar/blob/492eb456/pulsar-common/src/main/java/org/apache/pulsar/common/naming/TopicName.java
and, of 5.0.0-M1, the same file at revision 8dae0236
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote_plus, unquote_plus

DOMAINS = ("persistent://", "segment://", "topic://")
"""How names of topics begin that ledgers know: topics and partitions, segments, and scalable topics."""

_SCHEME, SEGMENT_SCHEME, SCALABLE_SCHEME = DOMAINS
_DOMAIN, _SEGMENT = "persistent", "segment"
_NAMED_ENTITY = re.compile(r"[-=:.\w]+", re.ASCII)  # what brokers accept as tenant, cluster or namespace
_PARTITION = re.compile(r"-partition-\d+\Z", re.ASCII)
_MALFORMED_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_DESCRIPTOR = re.compile(r"[0-9a-f]{4}-[0-9a-f]{4}-(0|[1-9][0-9]{0,18})", re.ASCII)


def topic_of_managed_ledger(name: str) -> str:
    """Full topic name of a managed ledger; of a segment, the segment's.

    Raises:
        ValueError: no persistent topic is stored under such a name.
    """
    parts = name.split("/")
    if len(parts) == 5 and parts[2] == _SEGMENT:
        tenant, namespace, _, encoded, descriptor = parts
        return _segment_name([tenant, namespace], _decoded(encoded, name), descriptor, name)
    *spaces, domain, encoded = parts
    if len(spaces) not in (2, 3) or domain != _DOMAIN:
        raise ValueError(f"not a managed-ledger name of a persistent topic: {name!r}")
    local = _decoded(encoded, name)
    if len(spaces) == 2 and "/" in local:
        # With a slash, a V2 name would read back as the V1 name of another topic; brokers never make one.
        raise ValueError(f"slash in the local name of {name!r}")
    return f"{_SCHEME}{'/'.join(_checked(spaces, local, name))}"


def managed_ledger_of_topic(topic: str) -> str:
    """Name under which storage knows a topic, one partition of a topic, or one segment of a scalable topic.

    Raises:
        ValueError: not the full name of a persistent topic or a segment.
    """
    if topic.startswith(SEGMENT_SCHEME):
        spaces, local, descriptor = _taken_apart(topic)
        return "/".join([*spaces, _SEGMENT, _java_url_encoded(local), descriptor])
    if not topic.startswith(_SCHEME):
        raise ValueError(f"not the full name of a persistent topic: {topic!r}")
    *spaces, local = topic.removeprefix(_SCHEME).split("/", 3)
    *spaces, local = _checked(spaces, local, topic)
    return "/".join([*spaces, _DOMAIN, _java_url_encoded(local)])


def is_segment(topic: str) -> bool:
    """Whether this is the full name of a segment of a scalable topic, as far as its beginning tells."""
    return topic.startswith(SEGMENT_SCHEME)


@dataclass(frozen=True, slots=True)
class SegmentParts:
    """What the name of a segment says: first and last key hash of its range, and its number in the topic."""

    first_hash: int
    last_hash: int
    segment_id: int


def segment_parts(topic: str) -> SegmentParts | None:
    """What the full name of a segment says; None of any other name."""
    try:
        _, _, descriptor = _taken_apart(topic)
    except ValueError:
        return None
    first, last, number = descriptor.split("-")
    return SegmentParts(int(first, 16), int(last, 16), int(number))


def segment_of_scalable_topic(topic: str, first_hash: int, last_hash: int, segment_id: int) -> str:
    """Full name of a segment of a scalable topic, `topic://tenant/namespace/local`; its range is inclusive."""
    body = topic.removeprefix(SCALABLE_SCHEME)
    return f"{SEGMENT_SCHEME}{body}/{first_hash:04x}-{last_hash:04x}-{segment_id}"


def is_scalable_topic(topic: str) -> bool:
    """Whether this is the full name of a scalable topic."""
    spaces = topic.removeprefix(SCALABLE_SCHEME).split("/", 2)
    return topic.startswith(SCALABLE_SCHEME) and len(spaces) == 3 and all(spaces) and _are_named(spaces[:2])


def scalable_topic_of(topic: str) -> str | None:
    """The scalable topic that a segment belongs to, `topic://tenant/namespace/local`; None of any other name."""
    try:
        spaces, local, _ = _taken_apart(topic)
    except ValueError:
        return None
    return f"{SCALABLE_SCHEME}{'/'.join([*spaces, local])}"


def scalable_names(topic: str) -> tuple[str, ...]:
    """Names that a scalable topic has to which a topic, or the topic of a partition, is migrated; () of other names."""
    if not topic.startswith(_SCHEME):
        return ()
    local = topic.removeprefix(_SCHEME)
    return tuple(dict.fromkeys(f"{SCALABLE_SCHEME}{name}" for name in (local, _PARTITION.sub("", local))))


def _taken_apart(topic: str) -> tuple[list[str], str, str]:
    """Tenant and namespace, local name, and descriptor of the full name of a segment."""
    body, _, descriptor = topic.removeprefix(SEGMENT_SCHEME).rpartition("/")
    *spaces, local = body.split("/", 2)
    if _segment_name(spaces, local, descriptor, topic) != topic:
        raise ValueError(f"not the full name of a segment: {topic!r}")
    return spaces, local, descriptor


def _segment_name(spaces: list[str], local: str, descriptor: str, name: str) -> str:
    if len(spaces) != 2 or not _DESCRIPTOR.fullmatch(descriptor):
        raise ValueError(f"not the name of a segment of a scalable topic: {name!r}")
    return f"{SEGMENT_SCHEME}{'/'.join([*_checked(spaces, local, name), descriptor])}"


def _decoded(encoded: str, name: str) -> str:
    if _MALFORMED_ESCAPE.search(encoded):
        raise ValueError(f"malformed escape in the local name of {name!r}")
    return unquote_plus(encoded, errors="strict")


def _checked(spaces: list[str], local: str, name: str) -> list[str]:
    if len(spaces) not in (2, 3) or not local or not _are_named(spaces):
        raise ValueError(f"not the name of a persistent topic: {name!r}")
    return [*spaces, local]


def _are_named(spaces: list[str]) -> bool:
    return all(map(_NAMED_ENTITY.fullmatch, spaces))


def _java_url_encoded(text: str) -> str:
    """As Java's `URLEncoder` does it, which escapes `~` where Python does not."""
    return quote_plus(text, safe="*").replace("~", "%7E")
