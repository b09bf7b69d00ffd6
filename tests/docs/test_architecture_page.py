"""docs/explanation/architecture.md and CONTRIBUTING.md have the rooms of the source, on floors that imports go down."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import onym

ROOT = Path(__file__).parents[2]
SRC = Path(onym.__file__).parent
ARCHITECTURE = (ROOT / "docs" / "explanation" / "architecture.md").read_text("utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
BLOCK = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def rooms_of(src: Path) -> set[str]:
    """Return the folders and modules of a package, without private modules."""
    found = {path.parent.name for path in src.glob("*/__init__.py")} | {path.stem for path in src.glob("*.py")}
    return {room for room in found if not room.startswith("_")}


def floors(page: str) -> list[list[str]]:
    """Return the rooms of the page's first block, line by line; two spaces end the rooms and begin what they do."""
    block = BLOCK.search(page)
    assert block
    return [re.split(r" {2,}", line.strip())[0].split() for line in block[1].splitlines()]


def rooms_to_come(page: str) -> set[str]:
    section = page.split("\n### Rooms to come\n")[1].split("\n## ", maxsplit=1)[0]
    cells = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    return {room for cell in cells for room in re.findall(r"`(\w+)`", cell)}


def named_paths(page: str) -> set[str]:
    """Return the rooms and paths that the first column of the table of rooms names."""
    section = page.split("\n## What each room does\n")[1].split("\n## ", maxsplit=1)[0]
    cells = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    return {path for cell in cells for path in re.findall(r"`([\w/]+)`", cell)}


def upward(src: Path, lines: list[list[str]]) -> list[str]:
    """Return the imports that do not go to a lower line."""
    floor = {room: number for number, rooms in enumerate(lines) for room in rooms}
    found = []
    for path in sorted(src.rglob("*.py")):
        own = path.relative_to(src).parts[0].removesuffix(".py")
        others = {name.split(".")[1] for name in imported(path) if name.startswith("onym.")}
        found += [
            f"{own} imports {other}" for other in others if own in floor and floor.get(other, 99) <= floor[own] and other != own
        ]
    return sorted(set(found))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("page", [ARCHITECTURE, CONTRIBUTING], ids=["architecture.md", "CONTRIBUTING.md"])
def test_the_floors_have_all_rooms_once_and_no_others(page: str) -> None:
    assert sorted(room for rooms in floors(page) for room in rooms) == sorted(rooms_of(SRC))


@pytest.mark.parametrize("page", [ARCHITECTURE, CONTRIBUTING], ids=["architecture.md", "CONTRIBUTING.md"])
def test_imports_go_down_the_floors_of_the_page(page: str) -> None:
    assert upward(SRC, floors(page)) == []


def test_both_pages_have_the_same_floors() -> None:
    assert floors(ARCHITECTURE) == floors(CONTRIBUTING)


def test_rooms_to_come_are_not_there_yet() -> None:
    assert rooms_to_come(ARCHITECTURE)
    assert rooms_to_come(ARCHITECTURE) & rooms_of(SRC) == set()


def test_the_table_names_what_exists() -> None:
    missing = [path for path in named_paths(ARCHITECTURE) if not ((SRC / path).is_dir() or (SRC / f"{path}.py").is_file())]
    assert missing == []
    small = {
        "cli",
        "registry",
        "types",
        "errors",
        "store",
        "kb",
        "corpora",
    }  # the floors say what they do, or parts of them stand for them
    assert rooms_of(SRC) - small <= {path.split("/")[0] for path in named_paths(ARCHITECTURE)}


def test_a_wrong_floor_is_found(tmp_path: Path) -> None:
    for room, text in (("kb", "from onym.linkers import Linker\n"), ("linkers", "import onym.kb.ranking\n")):
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text(text)
    assert upward(tmp_path, [["linkers"], ["kb"]]) == ["kb imports linkers"]
    assert upward(tmp_path, [["linkers", "kb"]]) == ["kb imports linkers", "linkers imports kb"]
    assert rooms_of(tmp_path) == {"kb", "linkers"}
