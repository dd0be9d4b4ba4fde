"""Lists to delete, as each store's own tools read them; what a list cannot spell is not on it."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from pulsar_backlog.errors import UsageError
from pulsar_backlog.output.delete_lists import KEYS_AT_ONCE, Place, write_lists


def rows(*paths: str, upload_id: str | None = None) -> list[dict[str, object]]:
    return [{"objects": [path], "upload_id": upload_id} for path in paths]


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("s3://box/a/b/", Place("s3", "box", "a/b/")),
        ("gs://box", Place("gs", "box", "")),
        ("az://box/p", Place("azure", "box", "p/")),
        ("abfss://box@shop.dfs.core.windows.net/p", Place("azure", "box", "p/")),
        ("/data/x", Place("folder", "/data/x", "/data/x/")),
    ],
)
def test_places(source: str, place: Place) -> None:
    assert Place.of(source) == place


@pytest.mark.parametrize("source", ["bookies:///data/bookie", "pulsar://broker:6650", "S3://box"])
def test_where_only_the_cluster_deletes(source: str) -> None:
    with pytest.raises(UsageError, match="only its cluster deletes there"):
        Place.of(source)


def test_s3_takes_a_thousand_keys_at_once(tmp_path: Path) -> None:
    paths = [f"ü/{number}" for number in range(KEYS_AT_ONCE + 1)]
    done = write_lists(tmp_path / "list", Place.of("s3://box/p"), rows(*paths, "bad\x01"))
    assert (done.objects, done.uploads, done.left_out) == (KEYS_AT_ONCE + 1, 0, 1)
    files = sorted((tmp_path / "list").iterdir())
    assert [file.name for file in files] == ["delete-0001.json", "delete-0002.json"]
    keys = [item["Key"] for file in files for item in json.loads(file.read_text())["Objects"]]
    assert keys == [f"p/{path}" for path in paths]


def test_s3_uploads_have_a_list_of_their_own(tmp_path: Path) -> None:
    given = [*rows("a"), *rows("b", upload_id="u 1")]
    done = write_lists(tmp_path / "list", Place.of("s3://box/p"), given)
    assert (done.objects, done.uploads, len(done.commands)) == (1, 1, 2)
    lines = (tmp_path / "list" / "abort-uploads.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"Bucket": "box", "Key": "p/b", "UploadId": "u 1"}]


def test_google_takes_addresses_without_patterns(tmp_path: Path) -> None:
    done = write_lists(tmp_path / "list", Place.of("gs://box"), rows("a b", "c*", "d#1", "e[0]", "f\ng"))
    assert (tmp_path / "list" / "delete.txt").read_text() == "gs://box/a b\n"
    assert (done.objects, done.left_out) == (1, 4)


def test_azure_takes_names_in_the_container(tmp_path: Path) -> None:
    done = write_lists(tmp_path / "list", Place.of("az://box/p"), rows("a b", "c*", "f\ng"))
    assert (tmp_path / "list" / "delete.txt").read_text() == "p/a b\np/c*\n"
    assert (done.objects, done.left_out) == (2, 1)


def test_a_folder_is_cleaned_by_xargs(tmp_path: Path) -> None:
    place = tmp_path / "led gers"
    place.mkdir()
    for name in ("-rf", "a b", "c\nd", "kept"):
        (place / name).write_text("x")
    done = write_lists(tmp_path / "list", Place.of(str(place)), rows("-rf", "a b", "c\nd", "\ufffd"))
    assert (done.objects, done.left_out) == (3, 1)
    [command] = done.commands
    assert shlex.split(command)[:4] == ["xargs", "-0", "rm", "--"]
    subprocess.run(["bash", "-c", command], check=True)
    assert [path.name for path in place.iterdir()] == ["kept"]


def test_nothing_to_delete_is_no_command(tmp_path: Path) -> None:
    for number, source in enumerate(("s3://box", "gs://box", "az://box", "/data")):
        assert write_lists(tmp_path / str(number), Place.of(source), []).commands == []


def test_an_older_list_is_not_mixed_in(tmp_path: Path) -> None:
    (tmp_path / "delete-0002.json").write_text("{}")
    with pytest.raises(UsageError, match="empty folder"):
        write_lists(tmp_path, Place.of("s3://box"), rows("a"))
