"""The direction of imports and the single doors of the house."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import onym

SRC = Path(onym.__file__).parent

# From the top of the house to its ground floor; rooms on one line do not import each other.
FLOORS = [
    {"cli", "serve", "integrations"},
    {"batch", "train"},
    {"evaluate"},
    {"pipeline"},
    {"predictions"},
    {"linkers"},
    {"detect", "decoding", "index"},
    {"encoders", "trie", "datasets"},
    {"corpora"},
    {"kb"},
    {"text"},
    {"store"},
    {"types"},
    {"errors"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}

# What may be imported only there: one door for each dangerous act.
DOORS: dict[str, set[str]] = {
    "pickle": set(), "marshal": set(), "shelve": set(), "dill": set(), "joblib": set(), "cloudpickle": set(),
    "xml": set(), "lxml": {"store"}, "ijson": {"store"},
    "zipfile": {"store"}, "tarfile": {"store"}, "gzip": {"store"}, "zlib": {"store"}, "bz2": {"store"}, "lzma": {"store"},
    "shutil": {"store"}, "tempfile": {"store"}, "mmap": {"store"}, "fcntl": {"store"}, "msvcrt": {"store"},
    "socket": {"store"}, "http": {"store"}, "urllib": {"store"}, "httpx": {"store"}, "requests": {"store"},
    "subprocess": set(),
    "torch": {"decoding", "encoders", "linkers", "detect", "train"},
}  # fmt: skip
FORBIDDEN_CALLS = {"eval", "exec", "print", "compile", "__import__", "breakpoint"}


def modules() -> list[Path]:
    return sorted(SRC.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno} is a relative import"
            yield node.lineno, node.module or ""
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def upward(path: Path) -> list[str]:
    own = room_of(path)
    if own in ("__init__", "__main__"):
        return []
    found = []
    for line, name in imports(path):
        other = name.split(".")[1] if name.startswith("onym.") else ""
        if other in FLOOR and other != own and FLOOR[other] <= FLOOR[own]:
            found.append(f"{path.name}:{line}: {own} imports {other}")
    return found


def test_each_room_has_a_floor() -> None:
    rooms = {room_of(path) for path in modules()} - {"__init__", "__main__"}
    assert rooms <= FLOOR.keys()


def test_imports_go_down() -> None:
    assert [found for path in modules() for found in upward(path)] == []


def test_an_upward_import_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SRC", tmp_path)
    (tmp_path / "store").mkdir()
    bad = tmp_path / "store" / "bad.py"
    bad.write_text("from onym.kb import KnowledgeBase\n")
    assert upward(bad) == ["bad.py:1: store imports kb", "bad.py:1: store imports kb"]


def test_doors() -> None:
    beside = [
        f"{path.relative_to(SRC)}:{line} imports {name}"
        for path in modules()
        for line, name in imports(path)
        if room_of(path) not in DOORS.get(name.split(".")[0], {room_of(path)})
    ]
    assert beside == []


def test_files_are_written_in_the_store_alone() -> None:
    found = []
    for path in modules():
        if room_of(path) == "store":
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
            if is_call or isinstance(node, ast.Assert):
                found.append(f"{path.relative_to(SRC)}:{node.lineno}")  # type: ignore[attr-defined]
    assert found == []


def test_tests_mirror_the_source() -> None:
    tests = Path(__file__).parents[1]
    missing = []
    for path in modules():
        relative = path.relative_to(SRC)
        if path.name.startswith("_") or "cli" in relative.parts:
            continue
        if not (tests / relative.parent / f"test_{path.name}").exists():
            missing.append(str(relative))
    assert missing == []
