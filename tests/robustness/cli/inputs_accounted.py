"""Read random directory trees with the command line, and check that every file, document and row is accounted for.

folders        directory trees of documents that were read
files          entries in these trees: files, links, pipes and unreadable folders
documents      readable documents in these trees
releases       folders of terminology files that a knowledge base was built from
release_files  files in these folders
tables         tables whose rows were counted, some with an unclosed quote
unaccounted    entries that the totals, the list of inputs, the problems or the exit status report wrongly
lost           documents missing from the output, and tables with missing rows
renamed        documents that have another id in the output

The trees mix formats, with broken, truncated, linked and unreadable files and duplicate ids. The generator knows the content of
each tree. Trees are made and read without root privileges, so that file permissions apply.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from onym.cli.corpus import app
from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus
from tests.robustness.cli.input_trees import READABLE, Maker, Tree
from tests.robustness.cli.release_trees import judge_release, judge_table, read_samples

_NOBODY = 65534
_CHUNK = 20
_FILES = 14


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folders", type=int, default=0, help="number of trees (default: 1,000, or 60 with --quick)")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the first tree (default: 0)")


def run(options: argparse.Namespace) -> dict[str, object]:
    folders = options.folders or (60 if options.quick else 1000)
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as base:
        Path(base).chmod(0o777)
        with ProcessPoolExecutor(2, get_context("fork"), _start, (base,)) as pool:
            starts = range(options.seed, options.seed + folders, _CHUNK)
            ranges = [(start, min(start + _CHUNK, options.seed + folders)) for start in starts]
            for judged, wrong in pool.map(_judge_range, [base] * len(ranges), ranges):
                found.update(judged)
                for line in wrong:
                    print(line, file=sys.stderr)
    names = ("folders", "files", "documents", "releases", "release_files", "tables", "unaccounted", "lost", "renamed")
    figures: dict[str, object] = {name: found[name] for name in names}
    if found["unaccounted"] or found["lost"] or found["renamed"]:
        sys.exit(f"unaccounted, lost and renamed must be 0: {json.dumps(figures)}")
    return figures


def _start(base: str) -> None:
    """Run everything once to import all modules, then drop root privileges."""
    folder = Path(tempfile.mkdtemp(dir=base))
    maker = Maker(folder, folder, 0)
    for kind in READABLE:
        kind(maker)
    _convert(maker.tree, folder / "out", "jsonl")
    read_samples()
    judge_release(folder, 0)
    judge_table(folder, 0)
    shutil.rmtree(folder)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)


def _judge_range(base: str, seeds: tuple[int, int]) -> tuple[Counter[str], list[str]]:
    found, wrong = Counter[str](), list[str]()
    for seed in range(*seeds):
        folder = Path(tempfile.mkdtemp(dir=base))
        (folder / "outside").mkdir()
        (folder / "outside" / "secret.txt").write_text("Secret words")
        (folder / "tree").mkdir()
        tree = Maker(folder / "tree", folder / "outside", seed).make(_FILES)
        judged = _judge(tree, folder / "out", "text" if seed % 4 == 0 else "jsonl")
        files, bad = judge_release(folder, seed)
        judged.figures.update(releases=1, release_files=files, tables=1)
        for line in bad + judge_table(folder, seed):
            judged.add(*line.split(": ", 1))
        found.update(judged.figures)
        wrong += [f"tree {seed}: {line}" for line in judged.wrong]
        for path in tree.folder.rglob("*"):
            if not path.is_symlink() and path.is_dir():
                path.chmod(0o755)
        shutil.rmtree(folder)
    return found, wrong


@dataclass
class _Judged:
    """The figures of a tree, and the errors found in it."""

    figures: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, figure: str, what: str) -> None:
        self.figures[figure] += 1
        self.wrong.append(f"{figure}: {what}")


def _convert(tree: Tree, output: Path, to: str) -> tuple[int, dict[str, Any], list[dict[str, Any]]]:
    """Return the exit status, totals and problems."""
    done = CliRunner().invoke(app, ["convert", str(tree.folder), str(output), "--to", to, "--json"])
    answer = json.loads(done.stdout) if done.stdout.startswith("{") else {"inputs": [], "error": repr(done.exception)}
    log = output.with_name(f"{output.name}.problems.jsonl")
    problems = [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []
    return done.exit_code, answer, problems


def _judge(tree: Tree, output: Path, to: str) -> _Judged:
    status, answer, problems = _convert(tree, output, to)
    wanted = Counter((doc.id, doc.text) for entry in tree.entries.values() for doc in entry.docs)
    judged = _Judged(Counter(folders=1, files=len(tree.entries), documents=wanted.total()))
    _judge_files(tree, answer, problems, judged)
    _judge_totals(tree, status, answer, judged)
    _judge_documents(wanted, output, to, judged)
    return judged


def _judge_files(tree: Tree, answer: dict[str, Any], problems: list[dict[str, Any]], judged: _Judged) -> None:
    said = {file["name"]: file for file in answer["inputs"]}
    noted = {(each["source"], each["ordinal"], each["code"]) for each in problems}
    for name in said.keys() - tree.entries.keys():
        judged.add("unaccounted", f"{name} is not in the tree")
    for name, entry in tree.entries.items():
        file = said.get(name, {})
        if (file.get("state"), file.get("code"), file.get("documents")) != (entry.state, entry.code, len(entry.docs)):
            judged.add("unaccounted", f"{name} should be {entry.state} {entry.code} {len(entry.docs)}, is {file}")
        expected = {(name, *bad) for bad in entry.bad} | ({(name, 0, entry.code)} if entry.state == "failed" else set())
        if {each for each in noted if each[0] == name} != expected:
            judged.add("unaccounted", f"{name} has other problems than {expected}")


def _judge_totals(tree: Tree, status: int, answer: dict[str, Any], judged: _Judged) -> None:
    states = Counter(entry.state for entry in tree.entries.values())
    totals = {"files": len(tree.entries), **{f"files_{state}": states[state] for state in ("read", "ignored", "failed")}}
    totals["documents"] = judged.figures["documents"]
    if {key: answer.get(key) for key in totals} != totals:
        judged.add("unaccounted", f"the totals are not {totals}: {answer.get('error', '')}")
    is_whole = not states["failed"] and not any(entry.bad for entry in tree.entries.values())
    if status != (0 if is_whole else 5):
        judged.add("unaccounted", f"the exit status is {status}")


def _judge_documents(wanted: Counter[tuple[str, str]], output: Path, to: str, judged: _Judged) -> None:
    found = Counter((doc.id, doc.text) for doc in documents_of(read_corpus(output, to))) if output.exists() else Counter()
    missing, other = wanted - found, found - wanted
    ids = {text: name for name, text in other}
    for (name, text), count in missing.items():
        for _ in range(count):
            judged.add("renamed" if text in ids else "lost", f"document {name}")
    for name, text in other:
        if text not in {text for _, text in missing}:
            judged.add("unaccounted", f"document {name} was not in the tree")
