"""Generated classes are what protoc makes of the .proto files beside them."""

from pathlib import Path

import pytest
from grpc_tools import protoc

FOLDER = Path(__file__).parents[2] / "lib" / "pulsar_backlog" / "wire" / "proto"
PROTOS = sorted(FOLDER.glob("*.proto"))


def test_there_are_protos() -> None:
    assert {path.stem for path in PROTOS} >= {"ledger_metadata", "pulsar_messages"}


@pytest.mark.parametrize("proto", PROTOS, ids=lambda path: path.stem)
def test_generated_classes_are_fresh(proto: Path, tmp_path: Path) -> None:
    made = [f"-I{FOLDER}", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}", proto.name]
    assert protoc.main(["protoc", *made]) == 0
    for name in (f"{proto.stem}_pb2.py", f"{proto.stem}_pb2.pyi"):
        assert (FOLDER / name).read_text() == (tmp_path / name).read_text(), f"run protoc again for {name}"
