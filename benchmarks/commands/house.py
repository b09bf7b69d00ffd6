"""The state of the code itself: its size, its imports, its words, and work that must be done once.

files, lines                      Python files of the product, and their lines
import_cycles                     circles of modules that load each other
upward_imports                    imports of a room that is not below
public_names                      names in `onym.__all__`
public_names_documented           of them described in docs/reference/python.md
files_to_add_a_linker             files that a new linker needs, to work in every command; null if one is not enough
thread_answers_changed            answers that differ when 8 threads share a pipeline
artefact_opens_per_load           how often `onym.load` opens one artefact at most
model_bytes_hashed_twice          bytes of a model that one load hashes more than once
abbreviation_passes_per_document  how often abbreviations are looked for in one document
document_readings                 how often a model reads one document, for detector and linker together
ci_seconds                        how long `.ci/run` took last; null where it has not run
denied_words                      words and phrases that the field has other words for; --list shows where they are
duplicate_definitions             of them second definitions of a name that must have one
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import onym
from benchmarks.house.ci import ci_seconds
from benchmarks.house.cycles import import_cycles
from benchmarks.house.denied import find_denied
from benchmarks.house.floors import upward_imports
from benchmarks.house.loading import loading_figures
from benchmarks.house.new_linker import files_to_add_a_linker
from benchmarks.house.pipelines import build_small_kb
from benchmarks.house.readings import abbreviation_passes, document_readings
from benchmarks.house.surface import documented, public_names
from benchmarks.house.threads import thread_answers_changed

ROOT = Path(__file__).parents[2]
SRC = Path(onym.__file__).parent


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--list", action="store_true", help="print where each denied word is, to stderr")
    parser.add_argument("--words", action="store_true", help="count denied words alone")


def run(options: argparse.Namespace) -> dict[str, object]:
    if options.words:
        return _words(show=options.list)
    return {
        **_size(),
        **_imports(),
        **_surface(),
        **_work(quick=options.quick),
        "ci_seconds": ci_seconds(),
        **_words(show=options.list),
    }


def _size() -> dict[str, object]:
    files = list(SRC.rglob("*.py"))
    return {"files": len(files), "lines": sum(len(path.read_text("utf-8").splitlines()) for path in files)}


def _imports() -> dict[str, object]:
    cycles, upward = import_cycles(SRC), upward_imports(SRC)
    for problem in (*map(" <-> ".join, cycles), *upward):
        print(problem, file=sys.stderr)
    return {"import_cycles": len(cycles), "upward_imports": len(upward)}


def _surface() -> dict[str, object]:
    names = public_names()
    known = documented(ROOT / "docs" / "reference" / "python.md", names)
    return {"public_names": len(names), "public_names_documented": len(known)}


def _work(*, quick: bool) -> dict[str, object]:
    """Measure small pipelines in a folder and with a cache of their own."""
    with tempfile.TemporaryDirectory() as name, patch.dict(os.environ, {"ONYM_CACHE": f"{name}/cache"}):
        folder = Path(name)
        kb = build_small_kb(folder / "small")
        return {
            "files_to_add_a_linker": files_to_add_a_linker(SRC, folder / "linker"),
            "thread_answers_changed": thread_answers_changed(kb, folder / "threads", 16 if quick else 100),
            **loading_figures(kb, folder / "loading"),
            "abbreviation_passes_per_document": abbreviation_passes(kb, folder / "abbreviations", 40 if quick else 1_000),
            "document_readings": document_readings(kb, folder / "readings", 64, 1_500),
        }


def _words(*, show: bool) -> dict[str, object]:
    found = find_denied(ROOT)
    if show:
        print(*found, sep="\n", file=sys.stderr)
    return {
        "denied_words": len(found),
        "duplicate_definitions": sum(finding.kind == "definition" for finding in found),
    }
