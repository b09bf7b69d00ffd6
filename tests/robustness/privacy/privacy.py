"""Plant canary phrases in documents, provoke failures, and check that no phrase appears in errors, logs or leftover files.

runs           number of runs. Each reads a damaged corpus and writes it in another format, makes a linker or pipeline raise an
               error that quotes the document, calls the MCP tools with malformed arguments, or runs a command on damaged files
               (in this process or in a separate one)
canaries_seen  canary words in error messages, problems, DEBUG logs, warnings, other printed output (except the text a command
               is meant to print), or hidden files left behind; the suite fails unless this is 0
open_to_others files and folders of a private batch run, including temp files and exports, that other users may read; the suite
               fails unless this is 0

Leaks are reported on stderr with the number of the run, which `--replay` runs again.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

from onym.corpora.base import documents_of
from onym.corpora.check import check_corpus
from onym.corpora.corpus import read_sources, write_corpus
from onym.corpora.problems import require_complete
from onym.kb import KnowledgeBase
from onym.methods.dense.linker import DenseLinker
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.exact import ExactLinker
from onym.methods.generative.linker import GenerativeLinker
from onym.methods.tfidf import TfidfLinker
from onym.pipeline import link as linking
from onym.pipeline.pipeline import Pipeline
from onym.types import Document, LinkedDocument, Problem
from tests.robustness.privacy.canaries import Canaries, capture_shown, describe_problems, plant_documents
from tests.robustness.privacy.commands import (
    PLUG_INS,
    WRITABLE,
    Setup,
    draw_damaged_corpus,
    random_command,
    run_here,
    run_process,
)
from tests.robustness.privacy.private_runs import open_to_others
from tests.support.linking import link_with

FULL, QUICK = (10_000, 500), (150, 12)
"""Runs in all, and how many of them are processes of their own."""
_WORKERS = 2
_CALLS = 5  # calls of MCP tools per run
Run = Callable[[random.Random, Canaries, Path], str]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=0, help="number of runs (default: 10,000, or 150 with --quick)")
    parser.add_argument("--processes", type=int, default=0, help="runs in a subprocess (default: 500, or 12 with --quick)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replay", type=int, default=-1, metavar="NUMBER", help="run only this case and print its output")


def run(options: argparse.Namespace) -> dict[str, object]:
    runs, processes = QUICK if options.quick else FULL
    runs, processes = options.runs or runs, options.processes or processes
    with tempfile.TemporaryDirectory() as name, patch.object(sys, "path", [*sys.path, str(Path(name) / PLUG_INS)]):
        setup = Setup.make(folder := Path(name))
        parts = breakables(KnowledgeBase.open(folder / "kb"), folder, with_models=not options.quick)
        one = partial(_find_leaks, options.seed, setup, parts, processes)
        if options.replay >= 0:
            return {"canaries_seen": len(one(options.replay, verbose=True))}
        with ThreadPoolExecutor(_WORKERS) as pool:
            apart = pool.map(one, range(processes))  # these cases use separate processes, so threads are safe
            seen = sum(map(_summary, map(one, range(processes, runs)))) + sum(map(_summary, apart))
        (folder / "private").mkdir()
        left_open = _summary(open_to_others(folder / "private", folder / "pipeline"))
    if seen or left_open:
        sys.exit(f"{seen} canary words leaked, and {left_open} files of a private run are readable by other users")
    return {"runs": runs, "canaries_seen": seen, "open_to_others": left_open}


def _summary(lines: list[str]) -> int:
    """Report the leaks of a run immediately, and return their number."""
    for line in lines:
        print(line, file=sys.stderr, flush=True)
    return len(lines)


def _find_leaks(
    seed: int, setup: Setup, parts: list[Breakable], processes: int, number: int, *, verbose: bool = False
) -> list[str]:
    """Run one case, and return a line about each canary word that it leaks."""
    rng = random.Random(f"{seed}:{number}")
    canaries = Canaries(rng)
    act: Run = partial(_process, setup) if number < processes else rng.choices(_kinds(setup, parts), (6, 3, 2, 1))[0]
    with tempfile.TemporaryDirectory(dir=setup.folder) as folder:
        shown = act(rng, canaries, Path(folder))
    if verbose:
        print(shown, file=sys.stderr)
    seen = canaries.find_in(shown) + setup.canaries.find_in(shown)
    lines = [next(line for line in shown.splitlines() if word in line.lower()) for word in seen]
    return [f"run {number} (seed {seed}): {line[:300]}" for line in lines]


def _kinds(setup: Setup, parts: list[Breakable]) -> tuple[Run, ...]:
    return (
        _read_and_write,
        lambda rng, canaries, _: run_broken(rng, canaries, parts),
        partial(_here, setup),
        partial(_call, setup),
    )


def _read_and_write(rng: random.Random, canaries: Canaries, folder: Path) -> str:
    """Read a damaged corpus, check it, and write it in another format."""
    corpus = draw_damaged_corpus(rng, canaries)

    def read() -> str:
        items = list(read_sources([corpus.source()], rng.choice((corpus.format, ""))))
        problems = [*(item for item in items if isinstance(item, Problem)), *check_corpus(items)]
        written = write_corpus(items, folder / "out", rng.choice(WRITABLE))
        return describe_problems(problems + written.problems) + "".join(map(repr, documents_of(items)))

    return capture_shown(read)


def _here(setup: Setup, rng: random.Random, canaries: Canaries, folder: Path) -> str:
    command = random_command(rng, canaries, setup, folder)
    return capture_shown(lambda: run_here(command, folder))


def _process(setup: Setup, rng: random.Random, canaries: Canaries, folder: Path) -> str:
    return run_process(random_command(rng, canaries, setup, folder), folder, setup)


def _call(setup: Setup, rng: random.Random, canaries: Canaries, _: Path) -> str:
    return capture_shown(lambda: make_malformed_calls(KnowledgeBase.open(setup.folder / "kb"), rng, canaries))


def make_malformed_calls(kb: KnowledgeBase, rng: random.Random, canaries: Canaries) -> str:
    """Call the MCP tools with misnamed arguments and values of wrong types, and return the errors."""
    from mcp import Client, MCPError

    from onym.integrations.mcp import build_server

    async def call(client: Client) -> str:
        name = rng.choice(("text", "query", "terms", "txt", canaries.phrase()))
        value: object = rng.choice((canaries.phrase(), [canaries.phrase(), 7], {"a": canaries.phrase()}, None))
        try:
            result = await client.call_tool(rng.choice(("link", "explain", "lookup", "map", canaries.phrase())), {name: value})
        except MCPError as e:
            return str(e)
        return str(result.content) if result.is_error else ""

    async def act() -> str:
        async with Client(build_server(Pipeline(ExactLinker(kb), DictionaryDetector(kb)))) as client:
            return "\n".join([await call(client) for _ in range(_CALLS)])

    return asyncio.run(act())


# Linkers and pipelines that are made to raise while they process text, with the text in the message.

Link = Callable[[Iterable[Document]], Iterable[LinkedDocument]]


@dataclass(frozen=True)
class Breakable:
    """A linker or pipeline, and where it can be made to raise: objects, and names of functions that receive text."""

    link: Link
    spots: tuple[tuple[Any, str], ...]


def breakables(kb: KnowledgeBase, folder: Path, *, with_models: bool) -> list[Breakable]:
    """Open linkers and a pipeline without a model, and some with tiny models."""
    return [*_without_models(kb), *(_with_models(kb, folder) if with_models else ())]


def _without_models(kb: KnowledgeBase) -> list[Breakable]:
    tfidf = TfidfLinker(kb)
    pipeline = Pipeline(ExactLinker(kb), DictionaryDetector(kb))
    return [
        Breakable(
            partial(link_with, ExactLinker(kb)), ((ExactLinker, "_find"), (linking, "queries_of"), (ExactLinker, "_rank"))
        ),
        Breakable(partial(link_with, tfidf), ((type(tfidf.similarity), "top"),)),
        Breakable(_bare(pipeline), ((DictionaryDetector, "_spans"), (DictionaryDetector, "_names"), (linking, "queries_of"))),
    ]


def _with_models(kb: KnowledgeBase, folder: Path) -> list[Breakable]:
    from tests.support.models import save_encoder, save_model

    dense = DenseLinker.from_pretrained(save_encoder(folder / "encoder"), kb)
    generative = GenerativeLinker.from_pretrained(save_model(folder / "seq2seq"), kb, width=2)
    return [
        Breakable(partial(link_with, dense), ((type(dense.encoder), "encode"), (DenseLinker, "_answers"))),
        Breakable(partial(link_with, generative), ((GenerativeLinker, "decode_mentions"), (type(generative.layout), "source"))),
    ]


def run_broken(rng: random.Random, canaries: Canaries, parts: list[Breakable]) -> str:
    """Make one component raise, link documents with canaries, and return the output."""
    part, docs = rng.choice(parts), plant_documents(canaries)
    target, name = rng.choice(part.spots)

    def act() -> str:
        with patch.object(target, name, _raising(rng.choice(_ERRORS))):
            linked = list(part.link(docs))
        problems = [problem for each in linked for problem in each.problems]
        return (
            describe_problems(problems)
            + capture_shown(lambda: list(require_complete(linked)) and "")
            + repr(linked[0].document)
        )

    return capture_shown(act)


def _bare(pipeline: Pipeline) -> Link:
    return lambda docs: pipeline.link_many(Document(doc.id, doc.text) for doc in docs)


def _raising(error: Callable[[str], Exception]) -> Callable[..., NoReturn]:
    def raise_with_text(*args: Any, **options: Any) -> NoReturn:
        received = " ".join(map(_text, (*args, *options.values())))
        try:
            raise ValueError(received)
        except ValueError as cause:
            raise error(received) from cause

    return raise_with_text


def _text(value: object) -> str:
    if isinstance(value, Document):
        return value.text
    if isinstance(value, list | tuple):
        return " ".join(map(_text, value))
    return str(getattr(value, "text", value))


def _encoding_error(text: str) -> Exception:
    return UnicodeEncodeError("utf-8", text, 0, 1, text)


def _group(text: str) -> Exception:
    return ExceptionGroup(text, [ValueError(text)])


_ERRORS: tuple[Callable[[str], Exception], ...] = (
    ValueError, TypeError, KeyError, RuntimeError, OSError, MemoryError, AssertionError, RecursionError,
    _encoding_error, _group,
)  # fmt: skip
