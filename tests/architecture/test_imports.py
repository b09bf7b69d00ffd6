"""The direction of imports and the single doors of the house."""

from __future__ import annotations

import ast
from pathlib import Path

from benchmarks.house.cycles import import_cycles
from benchmarks.house.floors import FLOOR, ROOT_MODULES, iter_imports, room_of, upward_imports

import onym

SRC = Path(onym.__file__).parent

# What may be imported only there: one door for each dangerous act.
DOORS: dict[str, set[str]] = {
    "pickle": set(), "marshal": set(), "shelve": set(), "dill": set(), "joblib": set(), "cloudpickle": set(),
    "xml": set(), "lxml": {"store"}, "ijson": {"store"},
    "zipfile": {"store"}, "tarfile": {"store"}, "gzip": {"store"}, "zlib": {"store"}, "bz2": {"store"}, "lzma": {"store"},
    "shutil": {"store"}, "tempfile": {"store"}, "mmap": {"store"}, "fcntl": {"store"}, "msvcrt": {"store"},
    "socket": {"store", "serve"}, "http": {"store"}, "urllib": {"store", "serve"}, "httpx": {"store"}, "requests": {"store"},
    "subprocess": {"workers"},
    "torch": {"decoding", "encoders", "linkers", "detect", "train", "testing"},
    "onnx": {"encoders"}, "onnxruntime": {"encoders"},
}  # fmt: skip
FORBIDDEN_CALLS = {"eval", "exec", "print", "compile", "__import__", "breakpoint"}


def modules() -> list[Path]:
    return sorted(SRC.rglob("*.py"))


def test_each_room_has_a_floor() -> None:
    assert {room_of(path, SRC) for path in modules()} - set(ROOT_MODULES) <= FLOOR.keys()


def test_imports_go_down() -> None:
    assert upward_imports(SRC) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert import_cycles(SRC) == []


def test_doors() -> None:
    other_doors = [
        f"{path.relative_to(SRC)}:{line} imports {name}"
        for path in modules()
        for line, name in iter_imports(path)
        if room_of(path, SRC) not in DOORS.get(name.split(".")[0], {room_of(path, SRC)})
    ]
    assert other_doors == []


def test_files_are_written_in_the_store_alone() -> None:
    found = []
    for path in modules():
        if room_of(path, SRC) in ("store", "testing"):  # tests write what they are about
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and _opens_for_writing(node):
                found.append(f"{path.relative_to(SRC)}:{node.lineno}")
    assert found == []


def _opens_for_writing(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    modes = [a.value for a in [*call.args, *(k.value for k in call.keywords)] if isinstance(a, ast.Constant)]
    writes = any(isinstance(mode, str) and set(mode) <= set("rwxabt+") and set(mode) & set("wxa+") for mode in modes)
    return (name == "open" and writes) or name in ("write_text", "write_bytes", "mkdir", "unlink", "touch")


def test_nothing_is_evaluated_printed_or_asserted() -> None:
    found = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS
            is_assert = isinstance(node, ast.Assert) and room_of(path, SRC) != "testing"
            if is_call or is_assert:
                found.append(f"{path.relative_to(SRC)}:{node.lineno}")  # type: ignore[attr-defined]
    assert found == []
