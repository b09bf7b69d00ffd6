"""Measure the code base: size, imports, wording, edits needed to extend it, and duplicated work.

files, lines                      Python files in src/onym, and their lines
under_60_lines_pct                percentage of modules (except `__init__`) shorter than 60 lines
import_lines_pct                  percentage of lines that are import statements
function_p90                      90th percentile of the lines of a function, without its docstring
untyped_public                    public functions and methods with a missing annotation
import_cycles                     groups of modules that import each other, including imports inside functions
upward_imports                    imports from a package that is not in a lower layer
private_imports                   imports of `_x` from another folder
one_importer_pct                  percentage of modules imported by exactly one module, except plug-ins and re-exports
link_text_files                   files whose functions `onym link "text"` calls
link_text_modules                 modules that `onym link "text"` imports
benchmark_lines                   lines of Python in benchmarks/
pipeline_option_declarations      places where an option of a pipeline is declared
vocabulary_tables                 places where a vocabulary is declared
link_forms                        places where a field of a link is declared
files_to_add_*                    files to create or edit for a new linker, reader, output, route or recipe
public_names                      names in `onym.__all__`
public_names_documented           public names described in docs/reference/python.md
help_lines_*                      lines of `--help` of link, map and pipeline build, at 80 columns
readme_lines                      lines of README.md
thread_answers_changed            answers that change when 8 threads share a pipeline
artefact_opens_per_load           maximum number of times that `onym.load` opens the same artefact
model_bytes_hashed_twice          bytes of a model that one load hashes more than once
abbreviation_passes_per_document  how often abbreviations are detected in one document
document_readings                 how often a model encodes one document, for detector and linker together
ci_seconds, ci_seconds_cold       duration of the last `.ci/run` with a reused and with a new environment; null if never run
fast_tests_seconds, full_seconds  duration of the last fast test run and of the last `.ci/full`
denied_words                      discouraged words and phrases; --list shows where they are
duplicate_definitions             second definitions of names that must have only one (included in denied_words)
participle_functions              functions named with a participle instead of a verb, including tests; --list shows them
duplicate_class_names             classes in src/onym that share their name with another class

Declarations and files are counted by probes (tests/architecture/probes.py). The figure of a failed probe is null, with the
reason on stderr.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

from tests.architecture.imports import Source
from tests.architecture.names import find_duplicate_classes, find_participles
from tests.architecture.probes import run_probes
from tests.architecture.source import (
    count_help_lines,
    count_lines,
    find_documented,
    find_untyped_public,
    link_text,
    percent,
    size_figures,
)
from tests.architecture.words import find_denied

import onym
from benchmarks.house.work import work_figures

ROOT = Path(__file__).parents[2]
SRC = Path(onym.__file__).parent
# Target maxima. Figures that are above their target, or null, are listed on stderr.
TARGETS = {
    "files": 340, "lines": 53_000, "import_cycles": 0, "upward_imports": 0, "private_imports": 0, "one_importer_pct": 15,
    "under_60_lines_pct": 15, "import_lines_pct": 7.0, "function_p90": 16, "untyped_public": 0, "link_text_files": 70,
    "link_text_modules": 140, "benchmark_lines": 10_500, "pipeline_option_declarations": 1, "vocabulary_tables": 1,
    "link_forms": 1, "files_to_add_linker": 2, "files_to_add_reader": 2, "files_to_add_output": 2, "files_to_add_route": 2,
    "files_to_add_recipe": 2, "ci_seconds": 900, "ci_seconds_cold": 1_200, "fast_tests_seconds": 420,
}  # fmt: skip
# Hard limits: the benchmark fails if a figure is above its limit.
UPPER_BOUNDS = {
    "function_p90": 16, "untyped_public": 0, "import_cycles": 0, "upward_imports": 0, "private_imports": 0,
    "help_lines_link": 60, "help_lines_map": 60, "help_lines_pipeline_build": 60,
    "participle_functions": 40, "duplicate_class_names": 0,
}  # fmt: skip
CI_KEYS = {
    "ci_seconds": "last_reused_seconds",
    "ci_seconds_cold": "last_cold_seconds",
    "fast_tests_seconds": "fast_tests_seconds",
    "full_seconds": "full_seconds",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--list", action="store_true", help="list the locations of denied words and wrong imports on stderr")
    parser.add_argument("--words", action="store_true", help="only count denied words")


def run(options: argparse.Namespace) -> dict[str, object]:
    if options.words:
        return _words(show=options.list)
    source = Source(SRC)
    figures = {
        **size_figures(source),
        **_imports(source, show=options.list),
        **_surface(),
        **_measures(quick=options.quick),
        "benchmark_lines": count_lines((ROOT / "benchmarks").rglob("*.py")),
        **read_ci(),
        **_words(show=options.list),
        **_names(show=options.list),
    }
    _report(find_missed_targets(figures))
    return figures


def _report(lines: list[str]) -> None:
    print("".join(f"{line}\n" for line in lines), end="", file=sys.stderr)


def find_missed_targets(figures: dict[str, object]) -> list[str]:
    """Return a line for each figure that is above its target, or null."""
    return [
        f"missed: {key} is {json.dumps(value)}, target {target}"
        for key, target in TARGETS.items()
        if not isinstance(value := figures.get(key), int | float) or value > target
    ]


def _imports(source: Source, *, show: bool) -> dict[str, object]:
    cycles, upward, private = source.cycles(), source.upward(), source.private()
    one, modules = source.one_importer()
    untyped = find_untyped_public(source)
    _report([*map(" <-> ".join, cycles), *upward, *untyped, *((*private, *one) if show else ())])
    return {
        "import_cycles": len(cycles),
        "upward_imports": len(upward),
        "private_imports": len(private),
        "one_importer_pct": percent(len(one), modules),
        "untyped_public": len(untyped),
    }


def _surface() -> dict[str, object]:
    known = find_documented(ROOT / "docs" / "reference" / "python.md", onym.__all__)
    return {
        "public_names": len(onym.__all__),
        "public_names_documented": len(known),
        **{f"help_lines_{name.replace(' ', '_')}": count_help_lines(name) for name in ("link", "map", "pipeline build")},
        "readme_lines": count_lines([ROOT / "README.md"]),
    }


def _measures(*, quick: bool) -> dict[str, object]:
    """Run the measurements that need a temporary folder and cache."""
    with tempfile.TemporaryDirectory() as name, patch.dict(os.environ, {"ONYM_CACHE": f"{name}/cache"}):
        traced = link_text()
        return {
            "link_text_files": len(traced["files"]),
            "link_text_modules": len(traced["modules"]),
            **run_probes(SRC, Path(name) / "probes"),
            **work_figures(Path(name) / "work", quick=quick),
        }


def read_ci() -> dict[str, object]:
    """Return the durations of the last checks from `ONYM_CI_FILE` or `~/.cache/onym/ci.json`; None if not recorded."""
    try:
        recorded = json.loads(Path(os.environ.get("ONYM_CI_FILE") or Path.home() / ".cache/onym/ci.json").read_text("utf-8"))
    except (OSError, ValueError):
        recorded = {}
    return {figure: recorded.get(key) for figure, key in CI_KEYS.items()}


def _words(*, show: bool) -> dict[str, object]:
    found = find_denied(ROOT)
    if show:
        print(*found, sep="\n", file=sys.stderr)
    return {
        "denied_words": len(found),
        "duplicate_definitions": sum(finding.kind == "definition" for finding in found),
    }


def _names(*, show: bool) -> dict[str, object]:
    participles, duplicates = find_participles(ROOT), find_duplicate_classes(ROOT)
    _report([*participles, *duplicates] if show else [])
    return {"participle_functions": len(participles), "duplicate_class_names": len(duplicates)}
