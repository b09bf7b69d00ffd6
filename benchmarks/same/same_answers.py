"""Ask whether every way to link gives the same answers: the same ids in the same order, scores and confidences.

The reference is `Pipeline.link_many` on the same documents; for terms, that of `Pipeline.for_terms()`. Each way is compared in
what it shows: a table has only the best concept, OpenRefine gets rounded percentages. With `--kb --linker`, commands are
compared with a pipeline of the same linker. Scores may differ by 1e-5, or by as much as an output rounds them.

    starter   as shipped, with calibrated confidences
    exact     dictionary and exact match, over the starter's knowledge base
    tfidf     dictionary and TF-IDF, over the same
    types     the same as tfidf, but only diseases are linked; not with --quick
    dense     nearest names by MiniLM embeddings in fp32, over a part of HPO; not with --quick

`--quick` compares fewer texts: all but the slowest ways with `exact`, and some with `starter` and `tfidf`.

ways                 number of ways that were compared
texts                number of texts: raw texts, texts with annotated mentions, and terms
compared             number of texts that were compared, over all ways and pipelines
mentions             number of mentions in them
differences          number of compared texts with any mention whose answers differ
differences_WAY      the same for each way
seconds              wall time by way
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import onym
from benchmarks.models import model_folder
from benchmarks.report import data_folder
from benchmarks.same.texts import HPO, Documents, draw_documents
from benchmarks.same.ways import WAYS, Answer, Answers, Case, Way, command, fit_for_spacy
from benchmarks.serve.running import Running
from onym.types import Document

UPPER_BOUNDS = {"differences": 0}
_TEXTS, _QUICK_TEXTS = 200, 28
_DENSE_CONCEPTS = 2_000  # their names are embedded in seconds
_SLOW = {"mcp", "mcp_map", "spacy", "spacy_entities"}  # importing spaCy or the SDK of MCP takes seconds
_QUICK = {
    "starter": {"cli_link", "cli_map", "dataframe"},
    "tfidf": {"cli_link_kb", "cli_map_kb", "evaluate_kb"},
}
"""The ways that `--quick` compares of these pipelines; of the others, all but the slow ones."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--way", action="append", choices=[way.name for way in WAYS], help="compare only this way")
    parser.add_argument("--differences", type=Path, help="write all differences to this file, as JSON lines")


def run(options: argparse.Namespace) -> dict[str, object]:
    ways = [way for way in WAYS if not options.way or way.name in options.way]
    count = _QUICK_TEXTS if options.quick else _TEXTS
    totals: Counter[str] = Counter()
    differences: Counter[str] = Counter()
    seconds: defaultdict[str, float] = defaultdict(float)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for case in open_cases(Path(folder), count, is_quick=options.quick):
            for way in ways:
                if not is_offered(way, case, is_quick=options.quick):
                    continue
                began = time.perf_counter()
                expected, found = case.expected(way.kind), way.ask(case)
                changes = compare(expected, found, way)
                totals.update(compared=len(expected), mentions=sum(map(len, expected.values())))
                differences[way.name] += len(changes)
                seconds[way.name] += time.perf_counter() - began
                lines += [{"way": way.name, "pipeline": case.name, **change} for change in changes]
                _report(way, case, changes)
    if options.differences:
        options.differences.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), "utf-8")
    return {
        "ways": len(seconds),
        "texts": count,
        **totals,
        "differences": differences.total(),
        **{f"differences_{name}": differences[name] for name in seconds},
        "seconds": {name: round(number, 1) for name, number in seconds.items()},
    }


def compare(expected: Answers, found: Answers, way: Way) -> list[dict[str, object]]:
    """Return a row for each text with different answers: its id, and the first different answers."""
    if expected.keys() != found.keys():
        raise RuntimeError(f"{way.name} linked other texts: {sorted(expected.keys() ^ found.keys())[:3]}")
    changes = []
    for text, answers in expected.items():
        shown = sorted((each for each in map(way.shown, answers) if each), key=_position)
        for one, other in zip_longest(shown, sorted(found[text], key=_position)):
            if not is_same(one, other, way.tolerance):
                changes.append({"text": text, "expected": one, "found": other})
                break
    return changes


def _position(answer: Answer) -> tuple[int, int]:
    return answer.start, answer.end


def is_same(one: Answer | None, other: Answer | None, tolerance: float) -> bool:
    """Return whether two answers are equal; scores and confidences may differ by the tolerance.

    >>> fever = Answer(0, 5, "fever", "mesh:d005334", ("mesh:d005334",), (1.0,), 0.9)
    >>> is_same(fever, fever._replace(confidence=0.900001), 1e-5), is_same(fever, fever._replace(confidence=None), 1e-5)
    (True, False)
    """
    if one is None or other is None:
        return one is other
    if one[:5] != other[:5] or len(one.scores) != len(other.scores) or (one.confidence is None) != (other.confidence is None):
        return False
    pairs = [*zip(one.scores, other.scores, strict=True), (one.confidence or 0.0, other.confidence or 0.0)]
    return all(abs(score - again) <= tolerance for score, again in pairs)


def _report(way: Way, case: Case, changes: Sequence[Mapping[str, object]]) -> None:
    """Print the number of differences and the first of them."""
    if changes:
        first = changes[0]
        print(f"{way.name}, {case.name}: {len(changes)} differ; {first['text']}:", file=sys.stderr)
        print(f"  expected {first['expected']}\n  found    {first['found']}", file=sys.stderr)


# Pipelines and documents.


def is_offered(way: Way, case: Case, *, is_quick: bool) -> bool:
    """Return whether a way is compared: those with `--kb` only if they can name the pipeline's linker and filter."""
    if way.name.endswith("_kb") and (not case.named or (case.name == "types" and way.name != "cli_link_kb")):
        return False  # `onym evaluate` has no filter, and in `onym map` other types do not compete
    return not is_quick or (way.name in _QUICK[case.name] if case.name in _QUICK else way.name not in _SLOW)


def open_cases(folder: Path, count: int, *, is_quick: bool) -> Iterator[Case]:
    """Yield the cases, each with its own folder, while their service runs."""
    built = list(build_pipelines(folder, is_quick=is_quick))
    first, *others = [f"{name}={pipeline}" for name, pipeline, _ in built if not is_quick or name not in _QUICK]
    service = Running(first, folder / "serve.log", *(f"--pipeline={each}" for each in others))
    try:
        documents = draw_documents(count)
        dataset = prepare_dataset(folder, documents)
        if not is_quick:
            documents["entities"] = fit_for_spacy(documents["annotated"])
        for name, pipeline, named in built:
            own = folder / f"case-{name}"
            own.mkdir()
            yield Case(name, pipeline, named, documents, dataset, own, service, f"/{name}" if others else "")
    finally:
        service.stop()


def build_pipelines(folder: Path, *, is_quick: bool) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield the name of each pipeline, its folder, and the options of commands that name its linker instead."""
    yield "starter", "starter", ()
    linkers: dict[str, tuple[object, ...]] = {"exact": ("--kb", "starter"), "tfidf": ("--kb", "starter")}
    if not is_quick:  # fp32, because in bf16 scores vary by 1e-3 with the other mentions of a batch
        linkers["types"] = ("--kb", "starter", "--types", "Disease")
        linkers["dense"] = ("--kb", build_part_of_hpo(folder), "--model", model_folder("minilm"), "--dtype", "fp32")
    for name, options in linkers.items():
        named = ("--linker", "tfidf" if name == "types" else name, *map(str, options))
        command("pipeline", "build", *named, "--detector", "dictionary", "--output", folder / name)
        yield name, str(folder / name), named


def build_part_of_hpo(folder: Path) -> Path:
    """Build a knowledge base of a few concepts, because all names are embedded."""
    blocks = gzip.decompress((data_folder() / HPO).read_bytes()).decode().split("\n\n")
    terms = [block for block in blocks if block.startswith("[Term]") and "is_obsolete" not in block]
    kept = terms[:: max(1, len(terms) // _DENSE_CONCEPTS)]
    lines = (re.sub(r"(?m)^(is_a|relationship): .*\n?", "", block) for block in kept)
    (folder / "hpo.obo").write_text("\n\n".join([blocks[0], *lines, ""]), "utf-8")
    (folder / "hpo.toml").write_text('name = "hpo"\n[[sources]]\npath = "hpo.obo"\n', "utf-8")
    command("kb", "build", folder / "hpo.toml", "--output", folder / "hpo")
    return folder / "hpo"


def prepare_dataset(folder: Path, documents: Documents) -> Path:
    """Prepare the annotated documents as a dataset, and add the kinds of documents that are made of others."""
    onym.write_corpus(documents["annotated"], folder / "gold.jsonl", "jsonl")
    dataset = folder / "dataset"
    command(
        "dataset", "prepare", "--name", "same", "--split", f"test={folder / 'gold.jsonl'}", "-o", dataset, "--kb", "starter"
    )
    gold = [Document(doc.id, doc.text, doc.mentions) for doc in onym.open_dataset(str(dataset)).documents("test")]
    documents |= {
        "texts": documents["raw"] + documents["annotated"],
        "gold": gold,
        "found": [replace(doc, mentions=()) for doc in gold],
    }
    return dataset
