"""The command line in surroundings that no developer has: whether a person ever sees a trace.

cases       processes of the installed `onym`: without a home, as a user that the system does not know, in read-only folders,
            in old encodings, with standard streams closed, full or read by nobody, on terminals of one column, with few open
            files, little memory and no temporary folder, stopped by signals, with outputs that are devices, pipes, links or
            folders, with words that are many, long, empty or no UTF-8
tracebacks  those that showed a trace of Python or a panic of Rust, ended with an exit status that is not documented or that of
            a bug, or damaged what was there; they are named on stderr
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from benchmarks.environments.case import Case, Outcome, can_be_unknown
from benchmarks.environments.case import run as run_case
from benchmarks.environments.cases import iter_cases, make_base


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--verbose", action="store_true", help="tell about each case on stderr")
    parser.add_argument("--at-once", type=int, default=2, help="how many run at the same time")
    parser.add_argument("--only", default="", help="only the cases whose name holds this")


def run(options: argparse.Namespace) -> dict[str, object]:
    """Run the cases, with `--quick` some of each kind."""
    only, has_unknown = getattr(options, "only", ""), can_be_unknown()
    cases = [case for case in iter_cases() if only in case.name and (case.is_quick or not options.quick)]
    found = []
    for outcome in outcomes(
        [case for case in cases if has_unknown or not case.is_unknown_user], getattr(options, "at_once", 2)
    ):
        found.append(outcome)
        if outcome.is_traceback or getattr(options, "verbose", False):
            print(_described(outcome), file=sys.stderr)
    figures = {"cases": len(found), "tracebacks": sum(outcome.is_traceback for outcome in found)}
    if figures["tracebacks"]:
        sys.exit(f"a person would have seen a trace: {figures}")
    return dict(figures)


def outcomes(cases: list[Case], at_once: int = 2) -> Iterator[Outcome]:
    """Run cases, each in a folder of its own, where everybody may write."""
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(at_once) as pool:
        root = Path(name)
        root.chmod(0o755)
        base = root / "base"
        base.mkdir()
        make_base(base)
        yield from pool.map(lambda pair: _run_in(root / str(pair[0]), _at(base, pair[1])), enumerate(cases))


def _run_in(folder: Path, case: Case) -> Outcome:
    folder.mkdir()
    folder.chmod(0o777)
    temporary = folder.with_name(f"{folder.name}.tmp")
    temporary.mkdir()
    temporary.chmod(0o777)
    env = {"ONYM_CACHE": str(folder.parent / "cache"), "TMPDIR": str(temporary), **case.env}
    return run_case(replace(case, env=env), folder)


def _at(base: Path, case: Case) -> Case:
    words = tuple(word.replace("{base}", str(base)) if isinstance(word, str) else word for word in case.words)
    return replace(case, words=words, before=case.before.replace("{base}", str(base)))


def _described(outcome: Outcome) -> str:
    mark = "FAILED" if outcome.is_traceback else "ok"
    return f"{mark:6} {outcome.status:4}  {outcome.case.name}: {outcome.output[-300:]!r}"
