"""Tests that docs/reference/python.md lists the public names, and that all examples import only public names."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import onym
from tests.docs.test_examples import PAGES, Block, blocks, commands, name_of

SRC = Path(onym.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
TEXT = PAGE.read_text("utf-8")
PACKAGES = sorted(path.parent.name for path in SRC.glob("*/__init__.py"))
FILE = re.compile(r"cat > \S+\.py <<\s*['\"]?(\w+)['\"]?\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
AUTODOC = re.compile(r"^::: (\S+)\n(?:    options:\n      members: \[([^\]]+)\])?", re.MULTILINE)


def code_of(block: Block) -> Iterator[str]:
    """Yield the Python code of a block: its statements, or the .py files that its commands write."""
    if block.language == "python":
        lines = block.text.splitlines()
        prompts = [line[4:] for line in lines if line.startswith((">>> ", "... "))]
        yield "\n".join(prompts or lines)
    elif block.language == "console":
        yield from (found[2] for command in commands(block) for found in FILE.finditer(f"{command.text}\n"))


def imports(text: str) -> Iterator[tuple[str, str]]:
    """Yield module and name of each import of Onym in a page; the name is empty if the module itself is imported."""
    for block in blocks(text):
        for code in code_of(block):
            for node in ast.walk(ast.parse(code)):
                if isinstance(node, ast.Import):
                    yield from ((alias.name, "") for alias in node.names if alias.name.split(".")[0] == "onym")
                elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "onym":
                    yield from ((node.module or "", alias.name) for alias in node.names)


def private_imports(text: str) -> list[str]:
    """Return the imports of a page that use a module below `onym.PACKAGE`, or a name that is not exported."""
    found = []
    for module, name in imports(text):
        exported = [] if module.count(".") > 1 else getattr(importlib.import_module(module), "__all__", [])
        if module.count(".") > 1 or (name and name not in exported):
            found.append(f"from {module} import {name}")
    return found


def find_used_names(text: str) -> set[str]:
    """Return the public names that the examples of a page import or use as attributes of `onym`."""
    code = "\n".join(each for block in blocks(text) for each in code_of(block))
    return {name for module, name in imports(text) if module == "onym"} | set(re.findall(r"\bonym\.(\w+)", code))


def missing_objects(text: str) -> list[str]:
    """Return the objects that a page documents with mkdocstrings (`:::`) but that are not in the source."""
    missing = []
    for target, members in AUTODOC.findall(text):
        wanted = [f"{target}.{member.strip()}" for member in members.split(",")] if members else [target]
        missing += [name for name in wanted if not is_in_source(name)]
    return missing


def is_in_source(dotted: str) -> bool:
    """Return whether a dotted name is a module, a top-level definition of a module, or a member of a class in it."""
    parts = dotted.split(".")[1:]
    for depth in range(len(parts), -1, -1):
        module = SRC.joinpath(*parts[:depth])
        file = module.with_suffix(".py") if module.with_suffix(".py").is_file() else module / "__init__.py"
        if file.is_file():
            return _is_defined(ast.parse(file.read_text("utf-8")).body, parts[depth:])
    return False


def _is_defined(body: list[ast.stmt], names: list[str]) -> bool:
    if not names:
        return True
    found = [node for node in body if names[0] in _names(node)]
    return bool(found) and _is_defined(getattr(found[-1], "body", []), names[1:])


def _names(node: ast.stmt) -> set[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
        case ast.Assign(targets=targets):
            return {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
        case ast.ImportFrom(names=aliases):
            return {alias.asname or alias.name for alias in aliases}
    return set()


def test_table_lists_exactly_the_public_names() -> None:
    section = TEXT.split("\n## Names of `onym`\n")[1].split("\n## ")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == sorted(onym.__all__)


def test_each_public_name_has_an_example() -> None:
    assert sorted(set(onym.__all__) - find_used_names(TEXT)) == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_import_only_public_names(page: Path) -> None:
    assert private_imports(page.read_text("utf-8")) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_exported_name_is_not_a_module(package: str) -> None:
    """A module with the name of an exported object would replace that object as soon as the module is imported."""
    module = importlib.import_module(f"onym.{package}")
    for name in getattr(module, "__all__", []):
        _ = getattr(module, name)  # triggers the lazy import of this name
        assert not isinstance(getattr(module, name), ModuleType), name


def test_packages_export_the_listed_names() -> None:
    section = TEXT.split("\n## Packages\n")[1].split("\n### ")[0]
    for packages, names in re.findall(r"^\| (`onym\.[^|]+) \| (.+) \|$", section, re.MULTILINE):
        modules = [importlib.import_module(package) for package in re.findall(r"`([\w.]+)`", packages)]
        exported = {name for module in modules for name in module.__all__}
        assert set(re.findall(r"`(\w+)`", names)) <= exported, packages


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_documented_objects_exist(page: Path) -> None:
    assert missing_objects(page.read_text("utf-8")) == []


def test_detects_private_import() -> None:
    page = (
        "```python\n>>> from onym.kb.ranking import names_of\n>>> from onym import OnymError, nothing\n"
        ">>> import onym.kb.curie\n```\n"
        "```console\n$ cat > a.py <<'END'\nfrom onym.kb import missing\nEND\n```\n"
    )
    assert private_imports(page) == [
        "from onym.kb.ranking import names_of",
        "from onym import nothing",
        "from onym.kb.curie import ",
        "from onym.kb import missing",
    ]


def test_detects_missing_object() -> None:
    page = (
        "::: onym.kb\n\n::: onym.kb.nothing\n\n::: onym.errors.OnymError.as_dict\n\n"
        "::: onym.types\n    options:\n      members: [Link, Lunk]\n"
    )
    assert missing_objects(page) == ["onym.kb.nothing", "onym.types.Lunk"]
