"""`rebuild-index` as it is typed: a new file and nothing else, and one sentence where none can be made."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.report.terminal.rebuilt import upload_command
from tests.auditing import ADMIN, copy_ledgers, data_object, index_object
from tests.cli.test_usage import run


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Ledger 22 without its index."""
    folder = copy_ledgers(tmp_path / "source", [22])
    index_object(folder, 22).unlink()
    return folder


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def test_a_lost_index(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = state(source)
    assert run(monkeypatch, "rebuild-index", source, "22", "--to", tmp_path / "made", "--admin", ADMIN) == 0
    said = json.loads(capsys.readouterr().out)
    (made,) = (tmp_path / "made").iterdir()
    assert (said["ledger_id"], said["entries"], said["file"]) == (22, 7, str(made))
    assert said["object_metadata"]["managedledgername"] == "lab/s3/persistent/brk-dup-prefix"
    assert [words.split(":")[0].split(",")[0] for words in said["unknown"]] == [
        "when the ledger was created", "its bookies",
    ]  # fmt: skip
    assert state(source) == before
    shutil.copy(made, source)
    (copy,) = take_inventory(open_source(str(source))).copies
    assert (copy.status, copy.faults, copy.topic) == ("ok", (), "persistent://lab/s3/brk-dup-prefix")


def refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], code: int, words: str, *argv: str | Path
) -> None:
    assert run(monkeypatch, "rebuild-index", *argv) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line


def test_refusals(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    to = tmp_path / "made"
    refused(monkeypatch, capsys, 2, "no data object of ledger 23", source, "23", "--to", to)
    refused(monkeypatch, capsys, 2, "name a folder", source, "22", "--to", "s3://bucket")
    data = data_object(source, 22)
    other = data.with_name("0f8fad5b-d9cb-469f-a165-70867728950e-ledger-22")
    shutil.copy(data, other)
    refused(monkeypatch, capsys, 2, "name one with --copy", source, "22", "--to", to)
    other.unlink()
    to.mkdir(exist_ok=True)
    (to / f"{data.name}-index").write_bytes(b"mine")
    refused(monkeypatch, capsys, 2, "is not overwritten", source, "22", "--to", to)
    assert (to / f"{data.name}-index").read_bytes() == b"mine"
    healthy = copy_ledgers(tmp_path / "healthy", [22])
    refused(monkeypatch, capsys, 2, "does not contradict", healthy, "22", "--to", tmp_path / "other")
    data.write_bytes(data.read_bytes()[:-1])
    refused(monkeypatch, capsys, 4, "no index can be made of it", source, "22", "--to", tmp_path / "other")
    assert not list((tmp_path / "other").iterdir())


def test_a_damaged_index_is_made_again_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = copy_ledgers(tmp_path / "source", [22])
    real = index_object(source, 22)
    real.write_bytes(bytes(real.stat().st_size))
    assert run(monkeypatch, "rebuild-index", source, "22", "--to", tmp_path / "made") == 0
    assert json.loads(capsys.readouterr().out)["upload"] is None
    refused(monkeypatch, capsys, 2, "would be written among its ledgers", source, "22", "--to", source)


def test_commands_that_upload() -> None:
    """Each refuses to overwrite, and quotes what others named."""
    metadata = {"role": "index", "managedledgername": "a/b/persistent/it's"}
    s3 = upload_command("s3://bucket/pre/U-ledger-1", Path("/made/x y"), metadata, "http://minio:9000")
    assert s3 == (
        "aws s3api put-object --bucket bucket --key pre/U-ledger-1-index --body '/made/x y' --metadata "
        "'managedledgername=a/b/persistent/it'\"'\"'s,role=index' --if-none-match '*' --endpoint-url http://minio:9000"
    )
    gs = upload_command("gs://bucket/U-ledger-1", Path("/made/x"), {"role": "index"}, None)
    assert gs == "gcloud storage cp /made/x gs://bucket/U-ledger-1-index --custom-metadata=role=index --no-clobber"
    azure = upload_command("az://box/U-ledger-1", Path("/made/x"), {"role": "index"}, None)
    assert azure == (
        "az storage blob upload --file /made/x --container-name box --name U-ledger-1-index --metadata role=index "
        "--if-none-match '*'"
    )
    assert upload_command("/folder/U-ledger-1", Path("/made/x"), {}, None) is None
