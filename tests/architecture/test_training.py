"""Training by family: what is generic knows no family, and families do not know each other."""

from __future__ import annotations

import re
from pathlib import Path

import onym

TRAIN = Path(onym.__file__).parent / "train"
FAMILIES = ("generative", "encoder", "collective", "mentions", "rerank")
DISPATCH = ("run.py", "stages.py", "pipeline.py")  # by stage, to the families; the last one to several in turn


def families_in(path: Path) -> set[str]:
    return set(re.findall(rf"onym\.train\.({'|'.join(FAMILIES)})\b", path.read_text("utf-8")))


def test_generic_code_knows_no_family() -> None:
    generic = [path for path in TRAIN.rglob("*.py") if path.relative_to(TRAIN).parts[0] not in FAMILIES]
    assert {path.name for path in generic if families_in(path)} == set(DISPATCH)


def test_families_do_not_know_each_other() -> None:
    assert {name: {found for path in (TRAIN / name).glob("*.py") for found in families_in(path)} for name in FAMILIES} == {
        name: {name} for name in FAMILIES
    }
