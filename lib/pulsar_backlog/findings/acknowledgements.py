"""A file of what people know of already and do not want to be told again until a day: `--known FILE`.

    - code: C06                                  # of the catalogue, the id of a quality rule, or "*"
      subject: "persistent://public/default/*"   # what the finding is about, or its topic; * and ? stand for anything
      owner: team-payments
      reason: "the producer of last summer, see OPS-12"
      until: 2026-12-31                          # the last day, UTC; then it comes back

What it covers stays in tables and reports, and makes no exit code 1 and no message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from pulsar_backlog.errors import UsageError
from pulsar_backlog.findings.catalogue import CATALOGUE

ESCAPE = "!"
"""What stands before a character of a `LIKE` pattern that means itself."""
_CODE = re.compile(r"[A-Z]\d+")


def _code(text: str) -> str:
    if _CODE.fullmatch(text) and text not in CATALOGUE:
        raise ValueError(f"{text!r} is not the code of a finding: see docs/findings.md")
    return text


class Acknowledgement(BaseModel):
    """Findings that somebody answers for until a day."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: Annotated[str, Field(min_length=1), AfterValidator(_code)]
    subject: Annotated[str, Field(min_length=1)]
    owner: Annotated[str, Field(min_length=1)]
    reason: Annotated[str, Field(min_length=1)]
    until: date

    @property
    def pattern(self) -> str:
        """The subject as a pattern of SQL's `LIKE`, with `ESCAPE` before what means itself."""
        quoted = re.sub(r"([!%_])", rf"{ESCAPE}\1", self.subject)
        return quoted.replace("*", "%").replace("?", "_")

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        return re.compile(re.escape(self.subject).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)

    def covers(self, code: str, subject: str, topic: str | None) -> bool:
        """Whether it is about a finding."""
        return self.code in ("*", code) and any(
            text is not None and self._regex.fullmatch(text) is not None for text in (subject, topic)
        )


def acknowledgements(path: str | None, today: date) -> Sequence[Acknowledgement]:
    """Those of a file that have not ended; none where no file is named.

    Raises:
        UsageError: the file cannot be read, or says something else.
    """
    if path is None:
        return ()
    try:
        document: Any = yaml.safe_load(Path(path).read_text("utf-8"))
        listed = _LIST.validate_python(document or [])
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--known {path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"--known {path}: not YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        raise UsageError(f"--known {path}: {_faults(error)}") from error
    return tuple(one for one in listed if one.until >= today)


_LIST = TypeAdapter(list[Acknowledgement])


def _faults(error: ValidationError) -> str:
    words = (
        f"entry {int(fault['loc'][0]) + 1}, {fault['loc'][1] if len(fault['loc']) > 1 else 'all of it'}: {fault['msg']}"
        if fault["loc"]
        else "it must be a list of entries with code, subject, owner, reason and until"
        for fault in error.errors()
    )
    return "; ".join(words)
