"""Tests that the architecture page lists the layers of the import contract, and the packages that exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import onym

ROOT = Path(__file__).parents[2]
SRC = Path(onym.__file__).parent
PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text("utf-8")


def test_page_lists_the_layers_that_lint_imports_checks() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract.get("containers") == ["onym"])
    (block, *_) = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    listed = [re.split(r" {2,}", line.strip())[0].split() for line in block.splitlines()]  # the description follows two spaces
    assert listed == [layer.split(" | ") for layer in layers if not layer.startswith("_")]


def test_table_lists_existing_packages_and_modules() -> None:
    table = PAGE.split("\n## What each package does\n")[1].split("\n## ", maxsplit=1)[0]
    paths = re.findall(r"`([\w/]+)`", "".join(re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)))
    assert paths
    assert [path for path in paths if not ((SRC / path).is_dir() or (SRC / f"{path}.py").is_file())] == []
