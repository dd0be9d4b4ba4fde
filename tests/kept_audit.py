"""The audit of the bundled backlog: made once for each state of the code, kept in `.cache/audits`, changed by none."""

from __future__ import annotations

import fcntl
import hashlib
import pickle
import platform
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from pulsar_backlog.terms import EXIT_FINDINGS
from tests.auditing import ADMIN, DATA, OBJECTS, Audited, run_audit

ROOT = Path(__file__).parents[1]
KEPT = ROOT / ".cache" / "audits"
MADE_FROM = (
    "lib",
    "jobs",
    "conf",
    "pipelines.yaml",
    "requirements/runtime.txt",
    "tests/auditing.py",
    "tests/conftest.py",
)
_KEPT_SECONDS = 24 * 3600


def bundled_audit() -> Audited:
    """The one that is kept for this code, or a new one; the session that makes it is the running one."""
    KEPT.mkdir(parents=True, exist_ok=True)
    state = state_of(ROOT)
    folder, told = KEPT / state, KEPT / f"{state}.pickle"
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not told.exists():
            _remove_old()
            shutil.rmtree(folder, ignore_errors=True)  # of an audit that was killed
            folder.mkdir()
            audited = run_audit(OBJECTS, folder, admin=ADMIN, cluster="demo")
            if audited.exit_code != EXIT_FINDINGS:
                return audited  # the machine's fault perhaps: the next run tries again
            part = told.with_suffix(".part")
            part.write_bytes(pickle.dumps(audited))
            part.replace(told)
        kept: Audited = pickle.loads(told.read_bytes())
    return kept


def state_of(root: Path) -> str:
    """A digest of all that the audit depends on: code, settings, dependencies, backlog, and where they lie."""
    digest = hashlib.sha256(f"{root} {sys.version} {platform.machine()}".encode())
    for file in _files(root):
        body = file.read_bytes()
        digest.update(f"\0{file.relative_to(root)}\0{len(body)}\0".encode() + body)
    return digest.hexdigest()[:16]


def _files(root: Path) -> Iterator[Path]:
    for place in (*MADE_FROM, (DATA / "backlog").relative_to(ROOT)):
        path = root / place
        found = [path] if path.is_file() else sorted(path.rglob("*"))
        yield from (file for file in found if file.is_file() and "__pycache__" not in file.parts)


def _remove_old() -> None:
    """Audits of earlier code; not those of today, which another run may be reading."""
    for told in KEPT.glob("*.pickle"):
        if time.time() - told.stat().st_mtime > _KEPT_SECONDS:
            told.unlink()
            shutil.rmtree(told.with_suffix(""), ignore_errors=True)
