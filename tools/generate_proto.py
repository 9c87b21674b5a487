"""Generate the Python beside the .proto files, or say what of it is stale.

    generate_proto.py              write the generated files
    generate_proto.py --check      write nothing; exit 1 and name each file that is stale, missing or left over
    generate_proto.py --image F    write the compiled schema to F: what buf lints and compares

One compiler, grpcio-tools' protoc, serves all three. buf reads its image, not the sources: the imports from
google/rpc come with googleapis-common-protos, which buf could only fetch over a network.
"""

import argparse
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent / "proto"
GENERATED = ("*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py", "*_pb2_grpc.pyi")
INCLUDES = (ROOT, Path(sysconfig.get_path("purelib")), Path(str(files("grpc_tools") / "_proto")))
GRPC_TYPES = Path(sysconfig.get_path("scripts")) / "protoc-gen-mypy_grpc"


def compile_protos(*options: str) -> None:
    """Run protoc on every .proto, in sorted order; exit with its status if it fails."""
    sources = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.proto"))
    if not sources:
        sys.exit(f"no .proto files under {ROOT.name}/")
    status = protoc.main(["protoc", *(f"--proto_path={path}" for path in INCLUDES), *options, *sources])
    if status:
        sys.exit(status)


def generate(folder: Path) -> None:
    """Write the generated modules and their types into `folder`; no stubs for a file without a service."""
    compile_protos(
        f"--python_out={folder}",
        f"--pyi_out={folder}",
        f"--grpc_python_out={folder}",
        f"--plugin=protoc-gen-mypy_grpc={GRPC_TYPES}",
        f"--mypy_grpc_out=quiet:{folder}",
    )
    for module in folder.rglob("*_pb2_grpc.py"):
        if "_to_server(" not in module.read_text(encoding="utf-8"):
            module.unlink()
            module.with_suffix(".pyi").unlink(missing_ok=True)


def generated(folder: Path) -> dict[Path, str]:
    """Every generated file in `folder`: its place in there, and its text."""
    paths: Iterable[Path] = (path for pattern in GENERATED for path in folder.rglob(pattern))
    return {path.relative_to(folder): path.read_text(encoding="utf-8") for path in paths}


def write() -> None:
    """Make the generated files in the checkout what protoc gives today, and remove what it no longer gives."""
    with tempfile.TemporaryDirectory() as scratch:
        generate(Path(scratch))
        fresh = generated(Path(scratch))
    for place in generated(ROOT).keys() - fresh.keys():
        (ROOT / place).unlink()
    for place, text in fresh.items():
        (ROOT / place).write_text(text, encoding="utf-8")


def check() -> None:
    """Exit 1 if a generated file in the checkout is not what protoc gives today."""
    with tempfile.TemporaryDirectory() as scratch:
        generate(Path(scratch))
        fresh = generated(Path(scratch))
    present = generated(ROOT)
    stale = sorted(place for place in fresh.keys() | present.keys() if fresh.get(place) != present.get(place))
    for place in stale:
        fault = "missing" if place not in present else "left over" if place not in fresh else "stale"
        print(f"proto/{place.as_posix()}: {fault}", file=sys.stderr)
    if stale:
        sys.exit("run `make proto` and commit what it writes")


def write_image(path: Path) -> None:
    """Write the compiled schema, imports and comments included, to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    compile_protos("--include_imports", "--include_source_info", f"--descriptor_set_out={path}")


def main() -> None:
    """Read the command line and do what it asks."""
    parser = argparse.ArgumentParser(description="Generate the Python beside the .proto files.")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="write nothing, fail if a generated file is stale")
    mode.add_argument("--image", type=Path, metavar="F", help="write the compiled schema to F instead")
    arguments = parser.parse_args()
    if arguments.check:
        check()
    elif arguments.image:
        write_image(arguments.image)
    else:
        write()


if __name__ == "__main__":
    main()
