"""Repeat every attack that once succeeded, and its neighbours, and check that each does no harm.

attacks     number of attacks; with --quick, every fourth
succeeded   attacks that did harm when they were found; the others are their neighbours, which held
failing     attacks that do harm; the suite fails unless it is 0
rows        for each attack: its name, what the attacker does, and whether it is repelled
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path
from types import MappingProxyType

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from tests.robustness.attacks.rows import Attack, Place, find_attacks

FULL_LOWER_BOUNDS = MappingProxyType({"attacks": 19})
UPPER_BOUNDS = MappingProxyType({"failing": 0})
_NAMES = """id\tname\tsynonyms
mesh:D009203\tMyocardial Infarction\tHeart attack|MI
mesh:D005334\tFever\tPyrexia
mesh:D006973\tHypertension\tMI
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", default="", help="run attacks whose name contains this")


def run(options: argparse.Namespace) -> dict[str, object]:
    attacks = [each for each in find_attacks() if options.only in each.name][:: 4 if options.quick else 1]
    with tempfile.TemporaryDirectory() as folder:
        kb = build_small_kb(Path(folder))
        rows = [_repeat(each, kb) for each in attacks]
    succeeded = sum(each.has_succeeded for each in attacks)
    return {"attacks": len(rows), "succeeded": succeeded, "failing": sum(not row["repelled"] for row in rows), "rows": rows}


def build_small_kb(folder: Path) -> KnowledgeBase:
    """Build a knowledge base of three concepts in the folder `kb`."""
    (folder / "small.tsv").write_text(_NAMES)
    build_kb(Recipe.of({"sources": [{"path": "small.tsv"}]}), folder / "kb", root=folder)
    return KnowledgeBase.open(folder / "kb")


def _repeat(row: Attack, kb: KnowledgeBase) -> dict[str, object]:
    started, is_repelled = time.perf_counter(), True
    with tempfile.TemporaryDirectory() as folder:
        try:
            row.check(Place(Path(folder), kb))
        except Exception:  # AssertionError if the attack succeeds; any other error counts too
            is_repelled = False
            print(f"{row.name}\n{traceback.format_exc(limit=-3)}", file=sys.stderr)
    seconds = round(time.perf_counter() - started, 2)
    return {"attack": row.name, "what": row.what, "repelled": is_repelled, "seconds": seconds}
