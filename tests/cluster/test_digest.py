"""A folder's digest changes with what is in it, and with nothing else."""

from __future__ import annotations

import os
from pathlib import Path

from pulsar_backlog.cluster.digest import folder_digest


def test_no_folder_has_no_digest() -> None:
    assert folder_digest(None) is None


def test_the_digest_sees_each_change(tmp_path: Path) -> None:
    folder = tmp_path / "admin"
    deep = folder / "deep"
    deep.mkdir(parents=True)
    for path in (folder / "a.json", deep / "b.json"):
        path.write_text("{}")
        os.utime(path, ns=(0, 0))
    seen = [folder_digest(str(folder))]
    assert folder_digest(str(folder)) == seen[0]
    os.utime(deep / "b.json", ns=(0, 1))
    seen.append(folder_digest(str(folder)))
    (folder / "a.json").rename(folder / "c.json")
    seen.append(folder_digest(str(folder)))
    (folder / "c.json").write_text("{ }")
    os.utime(folder / "c.json", ns=(0, 0))
    seen.append(folder_digest(str(folder)))
    (deep / "b.json").unlink()
    seen.append(folder_digest(str(folder)))
    assert len(set(seen)) == len(seen)


def test_the_place_of_the_folder_does_not_matter(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.json").write_text("{}")
        os.utime(tmp_path / name / "a.json", ns=(0, 0))
    assert folder_digest(str(tmp_path / "one")) == folder_digest(str(tmp_path / "two"))


def test_hidden_files_do_not_matter(tmp_path: Path) -> None:
    """As that of the lock, which every snapshot touches."""
    (tmp_path / "a.json").write_text("{}")
    before = folder_digest(str(tmp_path))
    (tmp_path / ".pulsar-backlog.lock").write_text("{}")
    assert folder_digest(str(tmp_path)) == before
