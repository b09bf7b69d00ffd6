"""Tests of imports in training: generic code imports no model family, families do not import each other."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import onym

TRAIN = Path(onym.__file__).parent / "train"
FAMILIES = ("generative", "prefer", "encoder", "collective", "detector", "mentions", "rerank", "student", "genes", "organisms")
DISPATCH = {"run.py", "pipeline.py"}  # modules that dispatch to the model families, so they may import all of them
# These families train the models of another one, so they may import that family.
KNOWN = {"prefer": {"generative"}, "genes": {"rerank"}, "organisms": {"genes"}}


def families_in(path: Path) -> set[str]:
    return set(re.findall(rf"onym\.train\.({'|'.join(FAMILIES)})\b", path.read_text("utf-8")))


def test_generic_code_imports_no_family() -> None:
    generic = [path for path in TRAIN.rglob("*.py") if path.parent != TRAIN or path.stem not in FAMILIES]
    assert {path.name for path in generic if families_in(path)} == DISPATCH


def test_families_do_not_import_each_other() -> None:
    assert {name: families_in(TRAIN / f"{name}.py") for name in FAMILIES} == {name: KNOWN.get(name, set()) for name in FAMILIES}


@pytest.mark.parametrize("module", ["stages", "mentions", "rerank", "student", "pipeline"])
def test_configuration_needs_no_torch(module: str) -> None:
    code = f"import sys; import onym.train.{module}; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
