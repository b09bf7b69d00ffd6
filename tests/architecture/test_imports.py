"""Tests of import layers, and of the packages that may import dangerous libraries."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import onym
from tests.architecture.imports import ANY_LAYER, LAYER, Source

SRC = Path(onym.__file__).parent

# The only packages that may import each of these libraries.
ALLOWED: dict[str, set[str]] = {
    "pickle": set(), "marshal": set(), "shelve": set(), "dill": set(), "joblib": set(), "cloudpickle": set(),
    "xml": set(), "lxml": {"store"}, "ijson": {"store"},
    "zipfile": {"store"}, "tarfile": {"store"}, "gzip": {"store"}, "zlib": {"store"}, "bz2": {"store"}, "lzma": {"store"},
    "shutil": {"store"}, "tempfile": {"store"}, "mmap": {"store"}, "fcntl": {"store"}, "msvcrt": {"store"},
    "socket": {"store", "serve"}, "http": {"store"}, "urllib": {"store", "serve"}, "httpx": {"store"}, "requests": {"store"},
    "subprocess": {"workers"}, "sqlite3": {"store"},
    "torch": {"decoding", "models", "detect", "train", "testing"},
    "transformers": {"decoding", "models", "train", "testing"}, "tokenizers": {"models", "testing"},
    "onnx": {"models"}, "onnxruntime": {"models"}, "faiss": {"index"}, "sklearn": {"evaluate", "train"},
    "fastapi": {"serve"}, "ray": {"batch", "serve"}, "jinja2": {"evaluate"}, "matplotlib": {"evaluate"},
}  # fmt: skip
FORBIDDEN_CALLS = {"eval", "exec", "print", "compile", "__import__", "breakpoint"}


def modules() -> list[Path]:
    return sorted(SRC.rglob("*.py"))


def package_of(module: Path) -> str:
    return module.relative_to(SRC).parts[0].removesuffix(".py")


@pytest.fixture(scope="module")
def source() -> Source:
    return Source(SRC)


def test_each_package_has_a_layer() -> None:
    assert {package_of(path) for path in modules()} - set(ANY_LAYER) <= LAYER.keys()


@pytest.mark.parametrize("kind", ["cycles", "upward", "private"])
def test_imports(source: Source, kind: str) -> None:
    assert getattr(source, kind)() == []


def test_dangerous_libraries_are_imported_only_where_allowed() -> None:
    others = [
        f"{path.relative_to(SRC)}:{line} imports {name}"
        for path in modules()
        for line, name in _imports(path)
        if package_of(path) not in ALLOWED.get(name.split(".")[0], {package_of(path)})
    ]
    assert others == []


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""


def test_only_the_store_writes_files() -> None:
    found = []
    for path in modules():
        if package_of(path) in ("store", "testing"):  # `testing` may write files: it makes test data
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
            is_assert = isinstance(node, ast.Assert) and package_of(path) != "testing"
            if is_call or is_assert:
                found.append(f"{path.relative_to(SRC)}:{node.lineno}")  # type: ignore[attr-defined]
    assert found == []
