"""Tests that the architecture page and CONTRIBUTING.md list the packages in the layers that the tests declare."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import onym
from tests.architecture.imports import LAYERS, Source

ROOT = Path(__file__).parents[2]
SRC = Path(onym.__file__).parent
ARCHITECTURE = (ROOT / "docs" / "explanation" / "architecture.md").read_text("utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
BLOCK = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def packages_of(src: Path) -> set[str]:
    """Return the packages and modules below `onym`, without private modules."""
    found = {path.parent.name for path in src.glob("*/__init__.py")} | {path.stem for path in src.glob("*.py")}
    return {package for package in found if not package.startswith("_")}


def read_declared_layers(existing: set[str]) -> list[list[str]]:
    """Return the declared layers from top to bottom, with only the packages that exist."""
    layers = [[package for package in layer if package in existing] for layer in LAYERS]
    return [layer for layer in layers if layer]


def read_listed_layers(page: str) -> list[list[str]]:
    """Return the packages in each line of the page's first block; two spaces separate them from their description."""
    block = BLOCK.search(page)
    assert block
    return [re.split(r" {2,}", line.strip())[0].split() for line in block[1].splitlines()]


def first_cells(section: str) -> set[str]:
    """Return the names in the first column of the tables of a section."""
    cells = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([\w/]+)`", cell)}


def packages_to_come(page: str) -> set[str]:
    return first_cells(page.split("\n### Packages to come\n")[1].split("\n## ", maxsplit=1)[0])


def read_paths(page: str) -> set[str]:
    """Return the packages and modules listed in the table of packages."""
    return first_cells(page.split("\n## What each package does\n")[1].split("\n## ", maxsplit=1)[0])


@pytest.mark.parametrize("page", [ARCHITECTURE, CONTRIBUTING], ids=["architecture.md", "CONTRIBUTING.md"])
def test_pages_list_each_package_exactly_once(page: str) -> None:
    assert sorted(package for layer in read_listed_layers(page) for package in layer) == sorted(packages_of(SRC))


@pytest.mark.parametrize("page", [ARCHITECTURE, CONTRIBUTING], ids=["architecture.md", "CONTRIBUTING.md"])
def test_pages_list_the_declared_layers(page: str) -> None:
    assert read_listed_layers(page) == read_declared_layers(packages_of(SRC))


def test_packages_import_only_lower_layers() -> None:
    assert Source(SRC).upward() == []


def test_planned_packages_have_a_layer_and_no_code() -> None:
    declared = {package for layer in LAYERS for package in layer if not package.startswith("_")}
    assert packages_to_come(ARCHITECTURE) == declared - packages_of(SRC)


def test_table_lists_only_existing_packages() -> None:
    missing = [path for path in read_paths(ARCHITECTURE) if not ((SRC / path).is_dir() or (SRC / f"{path}.py").is_file())]
    assert missing == []
    small = {"cli", "registry", "types", "errors"}  # the page describes these in the list of layers
    assert packages_of(SRC) - small <= {path.split("/")[0] for path in read_paths(ARCHITECTURE)}


def test_detects_missing_package() -> None:
    page = "```text\nlinkers nothing  propose concepts\n  kb\n```\n"
    assert read_listed_layers(page) == [["linkers", "nothing"], ["kb"]]
    assert read_declared_layers({"kb", "linkers"}) == [["linkers"], ["kb"]]
