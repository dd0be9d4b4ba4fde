"""Schemas in a folder: files `*.schemas.json`, as `snapshot` saves them or `pulsar-admin schemas` prints them.

A file says which topic it is about (`topic`), or its name does: `tenant__namespace__topic.schemas.json`, its parts
percent-encoded.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pulsar_backlog.errors import UsageError
from pulsar_backlog.schemas.documents import versions_in
from pulsar_backlog.schemas.values import SchemaInfo

SUFFIX = ".schemas.json"
MAX_FILE_BYTES = 64 * 1024 * 1024
"""A larger file is no topic's schemas."""

_PARTITION = re.compile(r"-partition-(0|[1-9]\d*)\Z", re.ASCII)


def unpartitioned(topic: str) -> str:
    """The topic that a partition belongs to: partitions share its schemas."""
    return _PARTITION.sub("", topic)


def saved_versions(folder: str, topic: str) -> dict[int, SchemaInfo]:
    """Schemas of a topic by version; none where no file is about it.

    Raises:
        UsageError: there is no such folder, or a file about the topic cannot be read.
    """
    if not Path(folder).is_dir():
        raise UsageError(f"there is no folder {folder}")
    wanted = unpartitioned(topic)
    versions: dict[int, SchemaInfo] = {}
    for path in _files(folder):
        named = _topic_of_name(path.name)
        if named is not None and named != wanted:
            continue
        body = _body(path)
        if unpartitioned(str(body.get("topic", named))) == wanted:
            versions |= versions_in(body) or {}
    return versions


def _files(folder: str) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(root, name) for name in sorted(names) if name.endswith(SUFFIX))


def _topic_of_name(name: str) -> str | None:
    parts = [unquote(part) for part in name.removesuffix(SUFFIX).split("__", 2)]
    return unpartitioned(f"persistent://{'/'.join(parts)}") if len(parts) == 3 else None


def _body(path: Path) -> dict[str, Any]:
    try:
        if not path.is_file() or path.stat().st_size > MAX_FILE_BYTES:
            raise UsageError(f"{path} is no file of schemas")
        body = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path} is not JSON") from None
    if not isinstance(body, dict):
        raise UsageError(f"{path} is not a JSON object")
    return body
