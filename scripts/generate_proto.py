"""Generate the protobuf classes from our `.proto` files, or with `--check` say whether they are fresh."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from grpc_tools import protoc

PROTO = Path(__file__).parents[1] / "lib" / "pulsar_backlog" / "wire" / "proto"


def generate(out: Path) -> dict[str, bytes]:
    """Generated files by name, from every `.proto`, written below `out`."""
    sources = [path.name for path in sorted(PROTO.glob("*.proto"))]
    if protoc.main(["protoc", f"--proto_path={PROTO}", f"--python_out={out}", f"--pyi_out={out}", *sources]) != 0:
        raise SystemExit("protoc refused a .proto file; see above")
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def main(argv: list[str]) -> int:
    """Write the classes, or compare them with what is committed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 when something is stale")
    check = parser.parse_args(argv).check
    with tempfile.TemporaryDirectory() as folder:
        generated = generate(Path(folder))
    committed = {path.name: path.read_bytes() for path in [*PROTO.glob("*_pb2.py"), *PROTO.glob("*_pb2.pyi")]}
    stale = sorted(n for n in {*generated, *committed} if generated.get(n) != committed.get(n))
    if check:
        for name in stale:
            sys.stderr.write(f"{PROTO / name} is stale; run make proto\n")
        return 1 if stale else 0
    for name in stale:
        (PROTO / name).unlink() if name not in generated else (PROTO / name).write_bytes(generated[name])
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
