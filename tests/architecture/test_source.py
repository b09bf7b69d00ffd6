"""Tests of rules for the source that neither import-linter nor ruff checks; `pyproject.toml` has theirs."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

import onym

SRC = Path(onym.__file__).parent
FORBIDDEN_CALLS = {"eval", "exec", "print", "compile", "__import__", "breakpoint"}
# Functions that read Parquet files, by whichever library; `onym.store.files.parquet` checks a file before it calls them.
PARQUET_READERS = {
    "ParquetFile", "ParquetDataset", "read_table", "read_metadata", "read_schema", "read_pandas",
    "read_parquet_schema", "read_parquet_metadata", "scan_parquet",
}  # fmt: skip
OF_THE_ROOT = {"_lazy", "_version"}  # private modules that every package may import
Node = TypeVar("Node", bound=ast.AST)


@cache
def read_source() -> dict[Path, ast.Module]:
    return {path.relative_to(SRC): ast.parse(path.read_text("utf-8")) for path in sorted(SRC.rglob("*.py"))}


def iter_nodes(kind: type[Node]) -> Iterator[tuple[Path, Node]]:
    """Yield each syntax node of a kind in the source, with the path of its file below `onym`."""
    for path, tree in read_source().items():
        yield from ((path, node) for node in ast.walk(tree) if isinstance(node, kind))


def writes_file(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    modes = [set(value.value) for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)]
    if isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "formatter":
        return False  # the help of commands: click's formatter has a `write_text` too
    opens = name == "open" and any(mode <= set("rwxabt+") and mode & set("wxa+") for mode in modes)
    return opens or name in ("write_text", "write_bytes", "mkdir", "unlink", "touch")


def is_foreign_private(path: Path, statement: ast.ImportFrom) -> bool:
    """Return True if a file of one package imports a private module or name of another."""
    _, package, *modules = [*(statement.module or "").split("."), ""]
    names = [*modules, *(alias.name for alias in statement.names)]
    is_private = any(name.startswith("_") and not name.startswith("__") for name in (package, *names))
    return (statement.module or "").startswith("onym") and is_private and package not in {path.parts[0], *OF_THE_ROOT}


def test_only_the_store_writes_files() -> None:
    calls = [(path, call) for path, call in iter_nodes(ast.Call) if writes_file(call)]
    assert [f"{path}:{call.lineno}" for path, call in calls if path.parts[0] != "store"] == []


@pytest.mark.parametrize(
    ("code", "writes"),
    [
        ("open(p, 'w')", True),
        ("p.open(mode='xb')", True),
        ("p.write_text(t)", True),
        ("open(p)", False),
        ("p.open('rb')", False),
    ],
)
def test_recognises_writing(code: str, *, writes: bool) -> None:
    (statement,) = ast.parse(code).body
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Call)
    assert writes_file(statement.value) is writes


def test_only_the_store_reads_parquet_files() -> None:
    reads = [(path, node) for path, node in iter_nodes(ast.Attribute) if reads_parquet(node)]
    assert [f"{path}:{node.lineno}" for path, node in reads if path.parts[0] != "store"] == []


def reads_parquet(node: ast.Attribute) -> bool:
    is_library = isinstance(node.value, ast.Name) and node.value.id in ("pl", "pq", "pd", "pa", "dataset")
    return node.attr in PARQUET_READERS or (node.attr == "read_parquet" and is_library)


def test_nothing_is_evaluated_or_printed() -> None:
    calls = [(path, call) for path, call in iter_nodes(ast.Call) if getattr(call.func, "id", "") in FORBIDDEN_CALLS]
    assert [f"{path}:{call.lineno}" for path, call in calls] == []


def test_private_names_are_imported_in_their_own_package_only() -> None:
    """Ruff's rule for private imports takes all of `onym` for one package, so it checks only what is outside."""
    imports = [(path, statement) for path, statement in iter_nodes(ast.ImportFrom) if is_foreign_private(path, statement)]
    assert [f"{path}:{statement.lineno}" for path, statement in imports] == []


@pytest.mark.parametrize(
    ("statement", "is_foreign"),
    [
        ("from onym.kb import _rows", True),
        ("from onym.kb._rows import add", True),
        ("from onym.kb.build import _name", True),
        ("from onym.methods.base import _name", False),
        ("from onym.methods.dense.linker import _name", False),
        ("from onym._version import __version__", False),
        ("from onym.kb.build import build_kb", False),
    ],
)
def test_recognises_private_names_of_another_package(statement: str, *, is_foreign: bool) -> None:
    (node,) = ast.parse(statement).body
    assert isinstance(node, ast.ImportFrom)
    assert is_foreign_private(Path("methods/exact.py"), node) is is_foreign


@pytest.mark.parametrize("module", ["stages", "dictionary.trainer", "reranker.trainer", "student.trainer", "pipeline"])
def test_training_configuration_needs_no_torch(module: str) -> None:
    code = f"import sys; import onym.train.{module}; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
