"""Writing a plan into its folder: payloads first, so that a plan that is there is whole.

```
PLAN/held_back.jsonl  what the plan leaves alone, and why, a line each
```
The rest of the folder is `values.py`'s. It holds payloads, keys and properties: only its owner may read it.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pulsar_backlog.errors import UsageError
from pulsar_backlog.json_text import to_json
from pulsar_backlog.private_files import private_file, private_folder
from pulsar_backlog.repair.planning.plan import Planned
from pulsar_backlog.repair.values import PAYLOADS_NAME, payload_path, write_plan
from pulsar_backlog.whole_files import replacing

HELD_BACK_NAME = "held_back.jsonl"
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Payload:
    """Where an export keeps a payload: in its row, or in a file.

    Attributes:
        inline: the payload; None when it is in a file.
        file: the file; None when it is inline.
    """

    inline: bytes | None
    file: Path | None


def store_plan(folder: Path, planned: Planned, payloads: Mapping[int, Payload]) -> None:
    """Write a plan.

    Raises:
        UsageError: a payload is not in the export any more, or is another one.
    """
    private_folder(private_folder(folder) / PAYLOADS_NAME)
    for action in planned.plan.actions:
        if action.message is not None and action.message.sha256 is not None:
            _store_payload(payload_path(folder, action.number), payloads.get(action.number), action.message.sha256)
    lines = [to_json(asdict(one)) + "\n" for one in planned.held_back]
    with private_file(folder / HELD_BACK_NAME) as file:
        file.write("".join(lines).encode())
    write_plan(folder, planned.plan, {})


def _store_payload(path: Path, payload: Payload | None, sha256: str) -> None:
    if path.is_file() and _sha256(path) == sha256:
        return
    with replacing(path) as part:
        try:
            if payload is not None and payload.inline is not None:
                with private_file(part) as file:
                    file.write(payload.inline)
            elif payload is not None and payload.file is not None:
                with payload.file.open("rb") as exported, private_file(part) as file:
                    shutil.copyfileobj(exported, file, _BLOCK_BYTES)
        except OSError as error:
            raise UsageError(f"{payload and payload.file}: {error.strerror}: export again, then plan again") from None
        if not part.is_file() or _sha256(part) != sha256:
            raise UsageError("the export no longer holds what its table says: export again, then plan again")


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
