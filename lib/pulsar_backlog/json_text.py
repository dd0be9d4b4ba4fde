r"""JSON as this program writes it, to files and streams alike: printable ASCII.

Foreign text stands in it as escapes (`\u001b`, `\u202e`): a file that is looked at steers no terminal, no line ends
within a line of JSON (U+2028 ends one in JavaScript), and a lone surrogate is no fault of encoding.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

SPARK_OPTIONS = {"writeNonAsciiCharacterAsCodePoint": "true"}
"""With them Spark's JSON is ASCII too; it leaves U+007F as it is, which acts on nothing."""


_NOT_PRINTABLE = re.compile(r"[^\x20-\x7e]")


def in_ascii(text: str) -> str:
    """JSON text of others on one line, its characters as escapes where they are not printable ASCII."""
    return _NOT_PRINTABLE.sub(lambda match: json.dumps(match[0])[1:-1], text)


def to_json(
    value: object,
    *,
    indent: int | None = None,
    sort_keys: bool = False,
    compact: bool = False,
    default: Callable[[object], object] | None = None,
) -> str:
    """A value as JSON text, on one line unless there is an indent; `default` is asked for what JSON has no form of."""
    separators = (",", ":") if compact else None
    return json.dumps(
        value, ensure_ascii=True, indent=indent, sort_keys=sort_keys, separators=separators, default=default
    )
