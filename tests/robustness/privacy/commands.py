"""Setup of the runs: a knowledge base, a pipeline, a dataset with canary phrases, and a plug-in whose errors contain text."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from unittest.mock import patch

from onym.cli.boundary import main
from onym.corpora.formats import READ_ONLY, get
from onym.datasets import prepare
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.pipeline.folder import build_pipeline
from onym.registry import FORMATS
from onym.review.create import create_desk, read_links_table
from onym.store.files.source import InputFile, Source
from onym.store.limits import DEFAULT_LIMITS, Limits
from tests.corpora.citations import ENDINGS, write_citations
from tests.robustness.files.mutation import mutate
from tests.robustness.privacy.canaries import Canaries, plant_documents
from tests.support.documents import write_to_memory

PLUG_INS = "plug-ins"
_PLUG_IN = """
from typing import Literal

from onym.methods.base import Linker, LinkerConfig


class Config(LinkerConfig):
    kind: Literal["broken"] = "broken"


def open(config, kb, context):
    return Broken(kb)


class Broken(Linker):
    config = {"linker": "broken"}

    def __init__(self, kb):
        self.kb = kb

    def ranking(self, top_k, allowed=None):
        def rank(queries):
            raise ValueError([query.document.text for query in queries])

        return rank
"""
_FORMAT = """
HOLDS, IS_FOLDER = frozenset(), False


def matches(source):
    return False


def read(source):
    for file in source.files:
        with file.open() as stream:
            raise ValueError(stream.read(100_000).decode("utf-8", "replace"))
        yield
"""
_SITE = """
import logging, os

logging.basicConfig(level=logging.DEBUG, filename=os.environ.get("PRIVACY_LOG", os.devnull))
"""


@dataclass(frozen=True)
class Setup:
    """The folder with `kb`, `pipeline`, `s800` (a dataset) and `plug-ins`, and the dataset's canary phrases."""

    folder: Path
    canaries: Canaries

    @classmethod
    def make(cls, folder: Path) -> Setup:
        """Create everything; the plug-in first, because the registry searches for plug-ins only once."""
        _write_plug_in(folder / PLUG_INS)
        canaries = Canaries(random.Random("setup"))
        rows = "mesh:D005334\tfever\nmesh:D000001\theart attack\nncbitaxon:10090\tmouse\n"
        (folder / "kb.tsv").write_text(f"id\tname\n{rows}")
        build_kb(Recipe.of({"sources": [{"path": "kb.tsv"}]}), folder / "kb", root=folder)
        build_pipeline(folder / "kb", folder / "pipeline")
        (folder / "corpora").mkdir()
        for split in ("Train", "Test"):
            (folder / "corpora" / f"SPECIES_{split}.PubTator").write_text(species(canaries))
        prepare("s800", folder / "corpora", folder / "s800")
        return cls(folder, canaries)


def species(canaries: Canaries) -> str:
    """Return two documents with one mention each in PubTator format."""
    blocks = []
    for number in (1, 2):
        title = f"{canaries.phrase()} and a mouse"
        row = f"{number}\t{len(title) - 5}\t{len(title)}\tmouse\tSpecies\t10090"
        blocks.append(f"{number}|t|{title}\n{number}|a|{canaries.phrase()}\n{row}\n")
    return "\n".join(blocks) + "\n"


def _write_plug_in(folder: Path) -> None:
    about = folder / "broken-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    entry_points = "[onym.linkers]\nbroken = broken_linker\n\n[onym.formats]\nbroken = broken_format\n"
    (about / "entry_points.txt").write_text(entry_points)
    (folder / "broken_linker.py").write_text(_PLUG_IN)
    (folder / "broken_format.py").write_text(_FORMAT)
    (folder / "sitecustomize.py").write_text(_SITE)


# Intact or damaged corpora of every format, with canary phrases.

WRITABLE = tuple(name for name in FORMATS.built_in if name not in READ_ONLY)
_SUFFIX = {
    "parquet": ".parquet",
    "docbin": ".spacy",
    "jsonl": ".jsonl",
    "pubtator": ".txt",
    "bioc_xml": ".xml",
    "pubmed": ".xml",
    "cometa": ".tsv",
}
_TIGHT = Limits(**{limit.name: min(max(1, getattr(DEFAULT_LIMITS, limit.name) // 10), 300) for limit in fields(Limits)})
_ENCODINGS = ("utf-16", "utf-8-sig", "utf-7", "utf-32-le")


@dataclass(frozen=True)
class DamagedCorpus:
    """A damaged corpus: its format, its files by name, and the limits to read it with."""

    format: str
    files: dict[str, bytes]
    limits: Limits = DEFAULT_LIMITS

    def source(self) -> Source:
        """Return the files as an in-memory source."""
        return Source.of_files("made", [InputFile.from_bytes(name, data, self.limits) for name, data in self.files.items()])

    def write(self, folder: Path) -> Path:
        """Write the files to disk, and return the path for a command: the file, or the folder if there are several."""
        folder.mkdir()
        for name, data in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        return folder if len(self.files) > 1 else folder / next(iter(self.files))


def whole_corpus(canaries: Canaries, name: str) -> dict[str, bytes]:
    """Return the files of a corpus in this format."""
    if name == "pubmed":
        return {"pubmed.xml": _pubmed(canaries)}
    if name in ENDINGS:
        return {f"corpus{ENDINGS[name]}": write_citations(name, plant_documents(canaries))}
    made = write_to_memory(get(name), plant_documents(canaries))
    return {key or f"corpus{_SUFFIX.get(name, '.json')}": data for key, data in made.items()}


def draw_damaged_corpus(rng: random.Random, canaries: Canaries) -> DamagedCorpus:
    """Return a damaged corpus in a random format; sometimes intact, in another encoding, compressed, or with tight limits."""
    name = rng.choice(FORMATS.built_in)
    files = whole_corpus(canaries, name)
    victim = rng.choice(list(files))
    others = list(whole_corpus(canaries, rng.choice(FORMATS.built_in)).values())
    if rng.random() < 0.9:
        files[victim] = _damage_bytes(rng, files[victim], others)
    if rng.random() < 0.05:
        files[f"{victim}.gz"] = gzip.compress(files.pop(victim), 1, mtime=0)[: rng.choice((40, None))]
    return DamagedCorpus(name, files, _TIGHT if rng.random() < 0.1 else DEFAULT_LIMITS)


def _damage_bytes(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    if rng.random() < 0.05:
        return data.decode("utf-8", "replace").encode(rng.choice(_ENCODINGS))
    return mutate(rng, data, others)


def _pubmed(canaries: Canaries) -> bytes:
    articles = "".join(
        f"<PubmedArticle><MedlineCitation><PMID>{number}</PMID><Article>"
        f"<ArticleTitle>{canaries.phrase()}</ArticleTitle>"
        f"<Abstract><AbstractText>{canaries.phrase()} fever</AbstractText></Abstract>"
        "</Article></MedlineCitation></PubmedArticle>"
        for number in (1, 2)
    )
    return f'<?xml version="1.0"?>\n<PubmedArticleSet>{articles}</PubmedArticleSet>\n'.encode()


# Commands on damaged files: their arguments, and the outputs that must not contain text.

_TIMEOUT_S = 120


@dataclass(frozen=True)
class Command:
    """A command's arguments, sometimes with `--json`, and whether its standard output may contain text."""

    words: tuple[str, ...]
    prints_text: bool = False


def random_command(rng: random.Random, canaries: Canaries, setup: Setup, folder: Path) -> Command:
    """Write a damaged file to the folder, and return a command that reads it."""
    kind = rng.choices(_KINDS, _WEIGHTS)[0]
    command = kind(rng, canaries, setup, folder)
    json_too = ("--json",) if rng.random() < 0.4 else ()
    return Command((*command.words, *json_too), command.prints_text)


def run_here(command: Command, folder: Path) -> str:
    """Run a command in this process, and return its output."""
    out, err = io.StringIO(), io.StringIO()
    words = patch.object(sys, "argv", ["onym", *command.words])
    with chdir(folder), words, redirect_stdout(out), redirect_stderr(err), suppress(SystemExit):
        main()
    return err.getvalue() + ("" if command.prints_text else out.getvalue()) + _read_leftovers(folder)


def run_process(command: Command, folder: Path, setup: Setup) -> str:
    """Run a command in a separate process with DEBUG logs, and return its output."""
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
    return (done.stderr + out).decode("utf-8", "replace") + logged + _read_leftovers(folder)


def _read_leftovers(folder: Path) -> str:
    """Return the content of leftover hidden files, and the problems in written predictions."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    hidden = [path.read_bytes() for path in files if any(part.startswith(".") for part in path.relative_to(folder).parts)]
    lines = [line for path in files if path.name == "links.jsonl" for line in path.read_bytes().splitlines()]
    problems = [line for line in lines if b'"problem":' in line and "problem" in json.loads(line)]
    return b"\n".join(hidden + problems).decode("utf-8", "replace")


def _corpus(rng: random.Random, canaries: Canaries, folder: Path) -> tuple[str, ...]:
    """Write a damaged corpus, and return its path, sometimes with a format option."""
    damaged = draw_damaged_corpus(rng, canaries)
    path = damaged.write(folder / "corpus").relative_to(folder)
    return (str(path), "--from", damaged.format) if rng.random() < 0.6 else (str(path),)


def _check(rng: random.Random, canaries: Canaries, _: Setup, folder: Path) -> Command:
    return Command(("corpus", "check", *_corpus(rng, canaries, folder)))


def _stats(rng: random.Random, canaries: Canaries, _: Setup, folder: Path) -> Command:
    # Stats print the mention types, which come from the file.
    return Command(("corpus", "stats", *_corpus(rng, canaries, folder)), prints_text=True)


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
    (folder / "terms.csv").write_bytes(mutate(rng, data, [data]) if rng.random() < 0.8 else data)
    how = ("--kb", str(setup.folder / "kb"), "--linker", rng.choice(("exact", "tfidf")))
    return Command(("map", "terms.csv", "--column", "term", *how, "-o", "out.tsv"))


def _evaluate(rng: random.Random, canaries: Canaries, setup: Setup, folder: Path) -> Command:
    data = species(setup.canaries if rng.random() < 0.1 else canaries).encode()
    if rng.random() < 0.7:
        data = (setup.folder / "corpora" / "SPECIES_Test.PubTator").read_bytes()
    (folder / "found.txt").write_bytes(mutate(rng, data, [data]))
    protocol = rng.choice(("bhowmik-strict", "bhowmik-partial", "strict"))
    task = ("-d", str(setup.folder / "s800"), "--kb", str(setup.folder / "kb"))
    words = ("evaluate", "found.txt", *task, "--protocol", protocol)
    return Command((*words, "--allow-partial") if rng.random() < 0.5 else words)


def _review(rng: random.Random, canaries: Canaries, setup: Setup, folder: Path) -> Command:
    """Make a desk of a damaged table, or export a damaged desk."""
    head = "document,start,end,text,type,concept_id,score\n"
    phrases = [canaries.phrase() for _ in range(4)]
    rows = "".join(f"{number},0,{len(phrase)},{phrase},,MESH:D005334,1.0\n" for number, phrase in enumerate(phrases))
    data = (head + rows).encode()
    kb = ("--kb", str(setup.folder / "kb"))
    if rng.random() < 0.5:
        (folder / "links.csv").write_bytes(mutate(rng, data, [data]))
        return Command(("review", "create", "links.csv", *kb, "-o", "desk.sqlite"))
    (folder / "links.csv").write_bytes(data)
    desk = folder / "desk.sqlite"
    known = KnowledgeBase.open(setup.folder / "kb")
    create_desk(desk, read_links_table(folder / "links.csv", known), known, {})
    whole = desk.read_bytes()
    desk.write_bytes(mutate(rng, whole, [whole]))
    words = ("show", "desk.sqlite") if rng.random() < 0.5 else ("export", "desk.sqlite", "-o", "mine.onymc")
    return Command(("review", *words))


def _correct(rng: random.Random, canaries: Canaries, setup: Setup, folder: Path) -> Command:
    """Link with damaged corrections."""
    rows = "".join(f"{canaries.phrase()}\t{rng.choice(('no-concept', 'mesh:X'))}\t{canaries.phrase()}\n" for _ in range(4))
    data = f"surface\tmeaning\tcomment\n{rows}".encode()
    (folder / "mine.onymc").write_bytes(mutate(rng, data, [data]))
    how = ("--pipeline", str(setup.folder / "pipeline"), "--corrections", "mine.onymc")
    return Command(("link", *_corpus(rng, canaries, folder), *how, "-o", "links.jsonl"))


_KINDS: tuple[Callable[[random.Random, Canaries, Setup, Path], Command], ...] = (
    _check, _stats, _convert, _link, _plug_in, _map, _evaluate, _review, _correct,
)  # fmt: skip
_WEIGHTS = (4, 1, 4, 4, 1, 2, 2, 2, 1)
