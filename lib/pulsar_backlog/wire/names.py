"""Topic names and the managed-ledger names that storage knows them by.

```
persistent://tenant/namespace/local          tenant/namespace/persistent/<encoded local>
persistent://tenant/cluster/namespace/local  tenant/cluster/namespace/persistent/<encoded local>   (V1)
```

Only the local name is encoded, by Java's `URLEncoder` in UTF-8: `A-Z a-z 0-9 . - * _` stay, a space becomes
`+`, every other byte `%XX`. A partition is a topic whose local name ends in `-partition-<n>`. The names of
unreleased 5.0 (`segment://`, `topic://`) are not topics of this version and are refused.

Source: https://github.com/apache/pulsar/blob/492eb456/pulsar-common/src/main/java/org/apache/pulsar/common/naming/TopicName.java
"""

from __future__ import annotations

import re
from urllib.parse import quote_plus, unquote_plus

_SCHEME = "persistent://"
_DOMAIN = "persistent"
_NAMED_ENTITY = re.compile(r"[-=:.\w]+", re.ASCII)  # what brokers accept as tenant, cluster or namespace
_MALFORMED_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def topic_of_managed_ledger(name: str) -> str:
    """Full topic name of a managed ledger.

    Raises:
        ValueError: no persistent topic is stored under such a name.
    """
    *spaces, domain, encoded = name.split("/")
    if len(spaces) not in (2, 3) or domain != _DOMAIN or _MALFORMED_ESCAPE.search(encoded):
        raise ValueError(f"not a managed-ledger name of a persistent topic: {name!r}")
    local = unquote_plus(encoded, errors="strict")
    if len(spaces) == 2 and "/" in local:
        # With a slash, a V2 name would read back as the V1 name of another topic; brokers never make one.
        raise ValueError(f"slash in the local name of {name!r}")
    return f"{_SCHEME}{'/'.join(_checked(spaces, local, name))}"


def managed_ledger_of_topic(topic: str) -> str:
    """Name under which storage knows a topic, or one partition of a topic.

    Raises:
        ValueError: not the full name of a persistent topic.
    """
    if not topic.startswith(_SCHEME):
        raise ValueError(f"not the full name of a persistent topic: {topic!r}")
    *spaces, local = topic.removeprefix(_SCHEME).split("/", 3)
    *spaces, local = _checked(spaces, local, topic)
    return "/".join([*spaces, _DOMAIN, _java_url_encoded(local)])


def _checked(spaces: list[str], local: str, name: str) -> list[str]:
    if len(spaces) not in (2, 3) or not local or not all(map(_NAMED_ENTITY.fullmatch, spaces)):
        raise ValueError(f"not the name of a persistent topic: {name!r}")
    return [*spaces, local]


def _java_url_encoded(text: str) -> str:
    """As Java's `URLEncoder` does it, which escapes `~` where Python does not."""
    return quote_plus(text, safe="*").replace("~", "%7E")
