"""Commands on damaged files: the words of each, and what is shown by it that must not hold text."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from benchmarks.fuzz.mutation import mutated
from benchmarks.privacy.canaries import Canaries
from benchmarks.privacy.corpora import WRITABLE, damaged_corpus
from benchmarks.privacy.setup import PLUG_INS, Setup, species
from onym.cli.boundary import main

_TIMEOUT_S = 120


@dataclass(frozen=True)
class Command:
    """The words of a command; `--json` may be among them. Its standard output may be the text itself."""

    words: tuple[str, ...]
    prints_text: bool = False


def random_command(rng: random.Random, canaries: Canaries, setup: Setup, folder: Path) -> Command:
    """Write a damaged file into the folder, and return a command that reads it."""
    kind = rng.choices(_KINDS, _WEIGHTS)[0]
    command = kind(rng, canaries, setup, folder)
    json_too = ("--json",) if rng.random() < 0.4 else ()
    return Command((*command.words, *json_too), command.prints_text)


def run_here(command: Command, folder: Path) -> str:
    """Run a command in this process, and return what it shows."""
    out, err = io.StringIO(), io.StringIO()
    words = patch.object(sys, "argv", ["onym", *command.words])
    with chdir(folder), words, redirect_stdout(out), redirect_stderr(err), suppress(SystemExit):
        main()
    return err.getvalue() + ("" if command.prints_text else out.getvalue()) + _left_behind(folder)


def run_process(command: Command, folder: Path, setup: Setup) -> str:
    """Run a command as a process of its own, with logs at DEBUG, and return what it shows."""
    log = folder / "debug.log"
    environment = {
        **os.environ, "PYTHONPATH": str(setup.folder / PLUG_INS), "PRIVACY_LOG": str(log), "PYTHONWARNINGS": "always",
    }  # fmt: skip
    done = subprocess.run(
        [str(Path(sys.executable).parent / "onym"), *command.words],
        cwd=folder, env=environment, capture_output=True, check=False, timeout=_TIMEOUT_S,
    )  # fmt: skip
    logged = log.read_text("utf-8", "replace") if log.exists() else ""
    out = b"" if command.prints_text else done.stdout
    return (done.stderr + out).decode("utf-8", "replace") + logged + _left_behind(folder)


def _left_behind(folder: Path) -> str:
    """Return hidden files that were left, and the problems in the predictions that were written."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    hidden = [path.read_bytes() for path in files if any(part.startswith(".") for part in path.relative_to(folder).parts)]
    lines = [line for path in files if path.name == "links.jsonl" for line in path.read_bytes().splitlines()]
    problems = [line for line in lines if b'"problem":' in line and "problem" in json.loads(line)]
    return b"\n".join(hidden + problems).decode("utf-8", "replace")


def _corpus(rng: random.Random, canaries: Canaries, folder: Path) -> tuple[str, ...]:
    """Write a damaged corpus, and return its path, now and then with its format."""
    damaged = damaged_corpus(rng, canaries)
    path = damaged.write(folder / "corpus").relative_to(folder)
    return (str(path), "--from", damaged.format) if rng.random() < 0.6 else (str(path),)


def _check(rng: random.Random, canaries: Canaries, _: Setup, folder: Path) -> Command:
    return Command(("corpus", "check", *_corpus(rng, canaries, folder)))


def _stats(rng: random.Random, canaries: Canaries, _: Setup, folder: Path) -> Command:
    return Command(("corpus", "stats", *_corpus(rng, canaries, folder)), prints_text=True)  # types are what the file says


def _convert(rng: random.Random, canaries: Canaries, _: Setup, folder: Path) -> Command:
    if rng.random() < 0.1:
        (folder / "out").write_text("there already")
    path, *named = _corpus(rng, canaries, folder)
    return Command(("corpus", "convert", path, "out", "--to", rng.choice(WRITABLE), *named))


def _link(rng: random.Random, canaries: Canaries, setup: Setup, folder: Path) -> Command:
    how = ("--pipeline", str(setup.folder / "pipeline")) if rng.random() < 0.5 else ("--kb", str(setup.folder / "kb"))
    out = ("-o", "links.jsonl") if rng.random() < 0.5 else ("-o", "links", "--format", rng.choice(WRITABLE))
    return Command(("link", *_corpus(rng, canaries, folder), *how, *out))


def _plug_in(rng: random.Random, canaries: Canaries, setup: Setup, folder: Path) -> Command:
    path = _corpus(rng, canaries, folder)[0]
    if rng.random() < 0.5:
        return Command(("corpus", "check", path, "--from", "broken"))
    return Command(("link", path, "--kb", str(setup.folder / "kb"), "--linker", "broken", "-o", "links.jsonl"))


def _map(rng: random.Random, canaries: Canaries, setup: Setup, folder: Path) -> Command:
    rows = "".join(f"{number},{canaries.phrase()},fever {canaries.phrase()}\n" for number in range(4))
    head = "id,note,term\n" if rng.random() < 0.8 else ""
    data = f"{head}{rows}".encode()
    (folder / "terms.csv").write_bytes(mutated(rng, data, [data]) if rng.random() < 0.8 else data)
    how = ("--kb", str(setup.folder / "kb"), "--linker", rng.choice(("exact", "tfidf")))
    return Command(("map", "terms.csv", "--column", "term", *how, "-o", "out.tsv"))


def _evaluate(rng: random.Random, canaries: Canaries, setup: Setup, folder: Path) -> Command:
    data = species(setup.canaries if rng.random() < 0.1 else canaries).encode()
    if rng.random() < 0.7:
        data = (setup.folder / "corpora" / "SPECIES_Test.PubTator").read_bytes()
    (folder / "found.txt").write_bytes(mutated(rng, data, [data]))
    protocol = rng.choice(("bhowmik-strict", "bhowmik-partial", "strict"))
    task = ("-d", str(setup.folder / "s800"), "--kb", str(setup.folder / "kb"))
    words = ("evaluate", "found.txt", *task, "--protocol", protocol)
    return Command((*words, "--allow-partial") if rng.random() < 0.5 else words)


_KINDS: tuple[Callable[[random.Random, Canaries, Setup, Path], Command], ...] = (
    _check, _stats, _convert, _link, _plug_in, _map, _evaluate,
)  # fmt: skip
_WEIGHTS = (4, 1, 4, 4, 1, 2, 2)
