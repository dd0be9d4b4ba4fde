"""Text that others wrote: names out of topics, words of servers, exceptions of libraries. Anything may be in it.

Nothing of it may act on the reader's screen, bring back a secret (see `known_secrets`), or be read as another line or
word than it is. `terminal` passes all that is printed through here once more.
"""

from __future__ import annotations

import re
import shlex
import unicodedata

from pulsar_backlog.known_secrets import without_secrets

MAX_TEXT = 300
"""Characters of one foreign text that are shown; a chunk uuid may be megabytes long."""

MAX_SENTENCE = 2000
"""Characters of a sentence that quotes some, such as an error's, that are shown."""

MAX_HEADLINE = 1000
"""Characters of a headline that are shown: a sentence with long names."""

_LOOKED_AT = 8
"""How many times what is shown is looked at for secrets, at each end of a longer text: what they leave is shorter."""

_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_UNSEEN_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_SAID_OF_HIDDEN = len(" [... 100 characters ...] ")
"""What stands for what is hidden: of less than that nothing is hidden."""
_PLAIN = re.compile(r"[ -~]*\Z")
_PLAIN_LINES = re.compile(r"[ -~\n\t]*\Z")


def _is_unseen(char: str) -> bool:
    """Whether a reader could not see the character, or it would move or restyle what is around it."""
    if char in _UNSEEN_LETTERS or "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef":
        return True
    category = unicodedata.category(char)
    return category in _UNSEEN_CATEGORIES or (category == "Zs" and char != " ")


def _escape(char: str) -> str:
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def visible(text: str, limit: int = MAX_TEXT) -> str:
    r"""The text on one line, with control and invisible characters written as `\x1b` or `\u202e`, without secrets.

    About `limit` characters come out: longer texts lose their middle, and say so, where that is shorter. Escape
    for HTML separately.
    """
    between = len(text) - 2 * _LOOKED_AT * limit
    if between > 0:  # is never shown: secrets are not looked for in megabytes
        start, end = (without_secrets(part) for part in (text[: _LOOKED_AT * limit], text[-_LOOKED_AT * limit :]))
        length = len(start) + between + len(end)
    else:
        start = end = without_secrets(text)
        length = len(start)
        if length <= limit and _PLAIN.match(start):
            return start
    pieces = [_escape(c) if _is_unseen(c) else c for c in start[: 2 * limit]]
    if between <= 0 and length <= 2 * limit and sum(map(len, pieces)) <= limit + _SAID_OF_HIDDEN:
        return "".join(pieces)
    head = _fitting(pieces, limit // 2)
    tail = _fitting([_escape(c) if _is_unseen(c) else c for c in reversed(end[-limit:])], limit // 2)
    hidden = length - len(head) - len(tail)
    return f"{''.join(head)} [... {hidden:,} characters ...] {''.join(reversed(tail))}"


def visible_lines(text: str) -> str:
    r"""The text as `visible` has it, of any length, but for its line ends and tabs, which stay."""
    text = without_secrets(text)
    return (
        text
        if _PLAIN_LINES.match(text)
        else "".join(_escape(c) if c not in "\n\t" and _is_unseen(c) else c for c in text)
    )


def _fitting(pieces: list[str], budget: int) -> list[str]:
    """The first pieces whose lengths add up to no more than the budget."""
    taken: list[str] = []
    for piece in pieces:
        budget -= len(piece)
        if budget < 0:
            break
        taken.append(piece)
    return taken


def shell_word(text: str) -> str:
    """The text as one word of a POSIX shell; as `$'...'` of bash where it holds unseen characters."""
    if not any(_is_unseen(c) for c in text):
        return shlex.quote(text)
    raw = text.encode("utf-8", "surrogatepass")
    return "$'" + "".join(_shell_byte(b) for b in raw) + "'"


def _shell_byte(byte: int) -> str:
    if 0x20 <= byte < 0x7F and byte not in b"'\\":
        return chr(byte)
    return f"\\x{byte:02x}"
