"""Give mutated tables, corrections and desks to commands, which must read them or reject them with a code.

readers          kinds of inputs: tables of links, tables of terms, annotations, predictions, corrections and desks
cases            number of mutated inputs; each is given to one or two commands
cases_per_reader number of mutated inputs of each kind
refused          commands that failed with a code
internal_errors  inputs that made a command end with an internal error or a traceback, hang for 5 s, crash, or grow by 256 MB

Internal errors are reported on stderr with a number that `--replay reader:number` runs again.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.review.create import create_desk
from onym.review.desk import open_desk
from tests.review.desks import FEVER, decide, list_documents
from tests.robustness.attacks.rows import Place
from tests.robustness.files.fuzz import OTHER, Suite, add_fuzz_options, fuzz
from tests.robustness.files.mutation import BINARY, mutate

UPPER_BOUNDS = MappingProxyType({"internal_errors": 0})
_CASES, _QUICK = 2_500, 20
FOLDER = "ONYM_FUZZED"  # environment variable by which child processes find the folder
_KB, _MIGRATION = ("--kb", "../kb"), ("--from", "../kb", "--to", "../kb")
_NAMES = "id\tname\tsynonyms\nmesh:D009203\tMyocardial Infarction\tMI\nmesh:D005334\tFever\t\nmesh:D006973\tHypertension\tMI\n"
COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "links": (
        ("review", "create", "FILE", *_KB, "--documents", "../notes.jsonl", "-o", "d.sqlite"),
        ("audit", "plan", "FILE", *_KB, "--documents", "../notes.jsonl", "-o", "e.sqlite"),
        ("migrate", "FILE", *_MIGRATION, "-o", "new.ENDING"),
    ),
    "terms": (
        ("map", "FILE", "--column", "term", *_KB, "-o", "mapped.csv"),
        ("migrate", "FILE", "--column", "concept_id", *_MIGRATION, "-o", "new.ENDING"),
    ),
    "annotations": (
        ("migrate", "FILE", *_MIGRATION, "-o", "new", "--audit", "audit.csv"),
        ("show", "FILE", "-o", "page.html"),
    ),
    "predictions": (("evaluate", "FILE", "--dataset", "../dataset", *_KB, "--split", "train", "--report", "page.html"),),
    "corrections": (
        ("migrate", "FILE", *_MIGRATION, "-o", "new.ENDING"),
        (
            "link",
            "High fever, no MI. Myocardial ischemia (MI).",
            "--pipeline",
            "../pipeline",
            "--corrections",
            "FILE",
            "-o",
            "l.jsonl",
        ),
    ),
    "desks": (
        ("review", "show", "FILE"),
        ("review", "export", "FILE", "-o", "rules.onymc"),
        ("review", "agreement", "FILE"),
        ("review", "merge", "FILE", "../good.sqlite", "-o", "merged.sqlite"),
        ("migrate", "FILE", *_MIGRATION, "-o", "new.sqlite"),
    ),
}
Row = dict[str, Any]
_LINKS: list[Row] = [
    {"document": "1", "start": 5, "end": 10, "text": "fever", "type": "Disease", "concept_id": "MESH:D005334", "score": 0.9},
    {"document": "1", "start": 15, "end": 17, "text": "MI", "type": "", "concept_id": "MESH:D009203", "score": 0.5},
    {"document": "2", "start": 0, "end": 2, "text": "MI", "type": "", "concept_id": None, "score": None},
]
_TERMS: list[Row] = [
    {"term": "fever", "concept_id": "MESH:D005334", "-5.2": "-5.2"},
    {"term": "MI", "concept_id": "mesh:D009203", "-5.2": "=1+1"},
]
_RULES: list[Row] = [
    {"surface": "MI", "meaning": "mesh:D009203", "document": "", "start": "", "end": "", "add": "yes", "comment": "usual"},
    {"surface": "HA", "meaning": "no-concept", "document": "7", "start": "1", "end": "3", "add": "", "comment": ""},
    {"surface": "fever", "meaning": "not-a-mention", "document": "", "start": "", "end": "", "add": "", "comment": ""},
]
_MENTION = {"start": 0, "end": 5, "surface": "Fever", "concept_ids": ["mesh:D005334"], "type": "Disease"}
_NOTES = b'{"id": "1", "text": "High fever, no MI."}\n{"id": "2", "text": "MI again."}\n'
_ANNOTATIONS = {
    "a.jsonl": json.dumps({"id": "1", "text": "Fever and MI.", "mentions": [_MENTION]}).encode() + b"\n",
    "a.pubtator": b"1|t|Fever\n1|a|and MI.\n1\t0\t5\tFever\tDisease\tMESH:D005334\n\n",
    "a.links.jsonl": b"",  # written by `onym link`
}
_VALUES: tuple[Any, ...] = (
    None, "", " ", 0, -1, 2**31, 2**63, 2**64, -(2**63) - 1, 10**400, 1.5, -0.0, float("nan"), float("inf"), 1e308, True, [],
    {}, ["a"], {"a": 1}, "9" * 5_000, "=1+1", "-5.2", "\x00", "\ud800", "\u202e", "x" * 40_000, "1e999", "\u0663", "MESH:", ":",
    "mesh:D005334", "mesh:D009203|mesh:D006973", "no-concept", "not-a-mention", "yes", "2026-11-19", b"\xff",
)  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    add_fuzz_options(parser, list(COMMANDS), cases=f"{_CASES:,}, or {_QUICK} with --quick")


def run(options: argparse.Namespace) -> dict[str, object]:
    options.cases = options.cases or (_QUICK if options.quick else _CASES)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        make_base(Path(folder))
        figures, counts = fuzz(options, __name__)
    internal_errors = figures.pop(OTHER, 0)
    return {**figures, "refused": counts["refused"], "internal_errors": internal_errors}


def make_base(folder: Path) -> None:
    """Write a knowledge base, a dataset, a desk and the inputs that are mutated as bytes."""
    (folder / "small.tsv").write_text(_NAMES)
    build_kb(Recipe.of({"sources": [{"path": "small.tsv"}]}), folder / "kb", root=folder)
    kb = KnowledgeBase.open(folder / "kb")
    desk = folder / "good.sqlite"
    create_desk(desk, list_documents(), kb, {})
    with open_desk(desk) as opened:
        opened.decide(decide(1, "not-a-mention", link=2, scope="everywhere"))
        opened.decide(decide(2, "missed", document=1, start=0, end=4, concept_id=FEVER.concept_id))
    place = Place(folder, kb)
    for name, content in {**_ANNOTATIONS, "notes.jsonl": _NOTES}.items():
        (folder / name).write_bytes(content)
    documents = [json.dumps({"id": str(number), "text": f"Fever {number}", "mentions": [_MENTION]}) for number in range(20)]
    (folder / "mine.jsonl").write_text("\n".join(documents))
    for command in (
        ("pipeline", "build", *_at_base(_KB), "-o", "pipeline"),
        ("link", "a.pubtator", *_at_base(_KB), "-o", "a.links.jsonl", "--force"),
        ("dataset", "prepare", "--name", "mine", "mine.jsonl", *_at_base(_KB), "-o", "dataset"),
        ("evaluate", "--dataset", "dataset", *_at_base(_KB), "--split", "train", "--linker", "exact", "--save", "p.jsonl"),
    ):
        done = place.onym(*command)
        assert done.status == 0, done


def _at_base(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.removeprefix("../") for word in words)


def _make_file(seed: int, reader: str, number: int) -> tuple[str, bytes, random.Random]:
    """Return the name and the content of a mutated input, and the generator for what follows."""
    rng, base = random.Random(f"{seed}:{reader}:{number}"), Path(os.environ[FOLDER])
    tables: dict[str, list[Row]] = {"links": _LINKS, "terms": _TERMS, "corrections": _RULES}
    if reader in tables:
        endings = (
            ("tsv", "csv", "xlsx", "onymc")
            if reader == "corrections"
            else ("csv", "tsv", "xlsx", "parquet", *["jsonl"] * (reader == "links"))
        )
        ending = rng.choice(endings)
        data = _WRITERS[ending](_mutate_rows(rng, tables[reader]))
        return f"x.{ending}", _mutate_bytes(rng, data, ending) if rng.random() < 0.4 else data, rng
    name = {"predictions": "p.jsonl", "desks": "good.sqlite"}.get(reader) or rng.choice(list(_ANNOTATIONS))
    ending = name.partition(".")[2]
    return f"x.{ending}", _mutate_bytes(rng, (base / name).read_bytes(), ending), rng


def _mutate_bytes(rng: random.Random, data: bytes, ending: str) -> bytes:
    if ending in ("xlsx", "parquet", "sqlite"):
        for _ in range(rng.choice((1, 1, 4, 40))):
            data = rng.choice(BINARY)(rng, data, [data])
        return data
    return mutate(rng, data, [data])


def _mutate_rows(rng: random.Random, rows: Sequence[Row]) -> list[Row]:
    found = [dict(row) for row in rows]
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        row, act = rng.choice(found), rng.random()
        name = rng.choice(list(row) or [""])
        if act < 0.7:
            row[name] = rng.choice(_VALUES)
        elif act < 0.8:
            for each in found:
                each.pop(name, None)
        elif act < 0.9:
            found.append({**row, str(rng.choice(_VALUES)): rng.choice(_VALUES)})
        else:
            found = [{str(rng.choice(_VALUES)) if key == name else key: value for key, value in each.items()} for each in found]
    return found


def _cells(rows: Sequence[Row]) -> list[list[Any]]:
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [names, *([row.get(name) for name in names] for row in rows)]


def _delimited(delimiter: str) -> Callable[[Sequence[Row]], bytes]:
    def write(rows: Sequence[Row]) -> bytes:
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter).writerows(_cells(rows))
        return text.getvalue().encode("utf-8", "surrogatepass")

    return write


def _jsonl(rows: Sequence[Row]) -> bytes:
    return "".join(json.dumps(row, default=str) + "\n" for row in rows).encode()


def _parquet(rows: Sequence[Row]) -> bytes:
    names, *cells = _cells(rows)
    file = io.BytesIO()
    pq.write_table(pa.table([_column([row[at] for row in cells]) for at in range(len(names))], _written(names)), file)
    return file.getvalue()


def _column(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeError):
        return pa.array([None if value is None else _written([value])[0] for value in values])


def _written(values: Sequence[Any]) -> list[str]:
    return [str(value).encode("utf-8", "replace").decode() for value in values]


def _workbook(rows: Sequence[Row]) -> bytes:
    book = openpyxl.Workbook()
    for cells in _cells(rows):
        book.active.append([_cell(value) for value in cells])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _cell(value: Any) -> Any:
    is_plain = value is None or isinstance(value, bool) or (isinstance(value, int | float) and abs(value) < 1e300)
    return value if is_plain else "".join(char for char in _written([value])[0][:30_000] if char >= " ")


_WRITERS: dict[str, Callable[[Sequence[Row]], bytes]] = {
    "csv": _delimited(","), "tsv": _delimited("\t"), "onymc": _delimited("\t"), "jsonl": _jsonl, "parquet": _parquet,
    "xlsx": _workbook,
}  # fmt: skip


@cache
def _kb(base: Path) -> KnowledgeBase:
    return KnowledgeBase.open(base / "kb")


def _judge(seed: int, reader: str, number: int) -> Mapping[str, int]:
    """Give an input to two commands of its kind."""
    name, data, rng = _make_file(seed, reader, number)
    ending = name.partition(".")[2]
    base, counts = Path(os.environ[FOLDER]), Counter[str]()
    folder = Path(tempfile.mkdtemp(dir=base))
    try:
        (folder / name).write_bytes(data)
        for words in rng.sample(COMMANDS[reader], min(2, len(COMMANDS[reader]))):
            done = Place(folder, _kb(base)).onym(*(word.replace("FILE", name).replace("ENDING", ending) for word in words))
            assert done.is_told, f"{' '.join(words)}: {done.status} {done.stderr[-400:]}"
            counts["refused"] += done.status != 0
    finally:
        shutil.rmtree(folder)
    return counts


def _files(seed: int, reader: str, number: int) -> Mapping[str, bytes]:
    name, data, _ = _make_file(seed, reader, number)
    return {name: data}


SUITE = Suite(_judge, _files)
