"""A folder's digest changes with what is in it, and with nothing else."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from pulsar_backlog.cluster.digest import folder_digest
from pulsar_backlog.cluster.folder_files import visible_files


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


def test_files_are_named_in_the_order_of_paths(tmp_path: Path) -> None:
    """Digests of earlier releases went by it: what they audited is not audited anew."""
    for name in ("b.json", "b/a.json", "b-c/a.json", "a b.json", "b/c/d.json", ".hidden", "b/.hidden", ".deep/a.json"):
        path = tmp_path / "folder" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
        os.utime(path, ns=(0, 0))
    (tmp_path / "folder/nothing").symlink_to(tmp_path / "gone")
    (tmp_path / "folder/link").symlink_to(tmp_path / "folder/b")  # not followed
    expected = sorted(path for path in (tmp_path / "folder").rglob("*") if path.name[0] != "." and not path.is_dir())
    found = visible_files(tmp_path / "folder")
    assert found == [str(path.relative_to(tmp_path / "folder")) for path in expected]
    assert found == visible_files(Path(f"{tmp_path}/folder/"))
    lines = [f"{name}\0{2}\0{0}\n" for name in found if name != "nothing"]
    assert folder_digest(f"{tmp_path}/folder/") == hashlib.sha256("".join(lines).encode()).hexdigest()
