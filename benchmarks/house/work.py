"""Measure duplicated work (opening artefacts, hashing files, encoding documents), and thread safety of answers."""

from __future__ import annotations

import hashlib
import os
import random
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from typer.testing import CliRunner

import onym
from onym import Document
from onym.store.artefact import Artefact
from onym.text.abbreviations import Abbreviations

THREADS = 8
CONCEPTS = """id\tname\tsynonyms
mesh:D009203\tMyocardial Infarction\tHeart attack|Infarct, myocardial
mesh:D005334\tFever\tPyrexia|Hyperthermia
mesh:D006973\tHypertension\tHigh blood pressure
mesh:D003920\tDiabetes Mellitus\tDiabetes
mesh:D001249\tAsthma\tBronchial asthma
"""
_SENTENCES = (
    "Myocardial infarction (MI) was seen in {} patients.",
    "No MI followed in group {}.",
    "High blood pressure (HBP) and fever came first; HBP lasted {} days.",
    "Diabetes mellitus (DM) and bronchial asthma were noted {} times, DM more often.",
    "Pyrexia without hypertension: {} cases.",
)
_WINDOW, _OVERLAP = 64, 16
Answers = list[tuple[int, int, tuple[tuple[str, float], ...]]]


def work_figures(folder: Path, *, quick: bool) -> dict[str, object]:
    """Measure small pipelines with a toy knowledge base and tiny models of random weights."""
    kb = build_small_kb(folder / "small")
    return {
        "thread_answers_changed": count_answers_changed_by_threads(kb, folder / "threads", 16 if quick else 100),
        **loading_figures(kb, folder / "loading"),
        "abbreviation_passes_per_document": abbreviation_passes(kb, folder / "abbreviations", 40 if quick else 1_000),
        "document_readings": document_readings(kb, folder / "readings", 64, 1_500),
    }


def build_small_kb(folder: Path) -> Path:
    """Build a knowledge base of five concepts."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "concepts.tsv").write_text(CONCEPTS)
    recipe = onym.Recipe.model_validate({"sources": [{"path": "concepts.tsv", "name": "made"}]})
    onym.build_kb(recipe, folder / "kb", root=folder)
    return folder / "kb"


def build_pipeline(kb: Path, folder: Path, *options: str) -> Path:
    """Build a pipeline folder with the command line."""
    from onym.cli.app import app

    words = ["pipeline", "build", "--kb", str(kb), "-o", str(folder), *options]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    if done.exit_code:
        raise RuntimeError(f"onym {' '.join(words)} failed with exit status {done.exit_code}: {done.output}")
    return folder


def make_texts(count: int, sentences: int = 4, seed: int = 7) -> list[str]:
    """Return distinct texts that define and use abbreviations."""
    rng = random.Random(seed)
    return [
        " ".join(rng.choice(_SENTENCES).format(rng.randrange(10_000)) for _ in range(sentences)) + f" Case {number}."
        for number in range(count)
    ]


def make_documents(texts: Iterable[str]) -> list[Document]:
    return [Document(str(number), text) for number, text in enumerate(texts)]


def count_answers_changed_by_threads(kb: Path, folder: Path, count: int) -> int:
    """Return how many texts get different answers when 8 threads share a pipeline, over three kinds of linker."""
    from onym.testing.models import save_encoder, save_model

    pipelines = (
        build_pipeline(kb, folder / "exact"),
        build_pipeline(kb, folder / "dense", "--linker", "dense", "--model", str(save_encoder(folder / "encoder"))),
        build_pipeline(kb, folder / "generative", "--linker", "generative", "--model", str(save_model(folder / "seq2seq"))),
    )
    return sum(_count_changed_answers(onym.load(path), make_texts(count)) for path in pipelines)


def _count_changed_answers(pipeline: onym.Pipeline, texts: list[str]) -> int:
    """Link texts one by one, then in threads that each start at a different text; return how many answers differ."""
    alone = [_answers(pipeline, text) for text in texts]

    def link_from(thread: int) -> int:
        first = thread * len(texts) // THREADS
        order = [*range(first, len(texts)), *range(first)]
        return sum(_answers(pipeline, texts[number]) != alone[number] for number in order)

    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(link_from, range(THREADS)))


def _answers(pipeline: onym.Pipeline, text: str) -> Answers:
    return [
        (link.mention.start, link.mention.end, tuple((each.concept_id, round(each.score, 4)) for each in link.candidates))
        for link in pipeline.link(text).links
    ]


def loading_figures(kb: Path, folder: Path) -> dict[str, object]:
    """Load a pipeline with an empty cache; return the most times any artefact is opened, and the model bytes hashed twice."""
    from onym.testing.models import save_encoder

    model = save_encoder(folder / "encoder")
    pipeline = build_pipeline(kb, folder / "pipeline", "--linker", "dense", "--model", str(model))
    cold = patch.dict(os.environ, {"ONYM_CACHE": str(folder / "cold")})  # an empty cache: no file was verified before
    with cold, count_opens() as opens, count_digests() as digests:
        onym.load(pipeline).link("Fever and a heart attack.")
    sizes = {hashlib.sha256(path.read_bytes()).hexdigest(): path.stat().st_size for path in model.rglob("*") if path.is_file()}
    again = sum(size * (digests[digest] - 1) for digest, size in sizes.items() if digests[digest] > 1)
    return {"artefact_opens_per_load": max(opens.values()), "model_bytes_hashed_twice": again}


@contextmanager
def _count_calls(owner: type, method: str) -> Iterator[list[Any]]:
    """Record the first argument of each call of a class method."""
    calls: list[Any] = []
    own = getattr(owner, method).__func__

    def count_call(cls: type, first: Any, *arguments: Any, **options: Any) -> Any:
        calls.append(first)
        return own(cls, first, *arguments, **options)

    with patch.object(owner, method, classmethod(count_call)):
        yield calls


@contextmanager
def count_opens() -> Iterator[Counter[Path]]:
    """Count how often each artefact is opened, by its folder."""
    counts: Counter[Path] = Counter()
    with _count_calls(Artefact, "open") as folders:
        yield counts
    counts.update(Path(folder).resolve() for folder in folders)


@contextmanager
def count_digests() -> Iterator[Counter[str]]:
    """Count the computed SHA-256 digests, to find files that are hashed twice."""
    counts: Counter[str] = Counter()
    lock, sha256, file_digest = threading.Lock(), hashlib.sha256, hashlib.file_digest

    def note(digest: str) -> str:
        with lock:
            counts[digest] += 1
        return digest

    class Counted:
        """A hash object that counts how often its digest is read."""

        def __init__(self, data: bytes = b"", **_options: Any) -> None:
            self._hash = sha256(data)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._hash, name)

        def hexdigest(self) -> str:
            return note(self._hash.hexdigest())

        def digest(self) -> bytes:
            return bytes.fromhex(self.hexdigest())

    def count_file_digest(file: Any, name: Any, **options: Any) -> Any:
        found = file_digest(file, name, **options)
        note(found.hexdigest())
        return found

    with patch.object(hashlib, "sha256", Counted), patch.object(hashlib, "file_digest", count_file_digest):
        yield counts


def abbreviation_passes(kb: Path, folder: Path, count: int) -> float:
    """Return how often the dictionary detector and the exact linker together detect abbreviations in a document."""
    pipeline = onym.load(build_pipeline(kb, folder / "exact"))
    with _count_calls(Abbreviations, "from_text") as passes:
        linked = list(pipeline.link_many(make_documents(make_texts(count))))
    return round(len(passes) / len(linked), 3)


def document_readings(kb: Path, folder: Path, count: int, tokens: int) -> float:
    """Return how often a model encodes a document: encoded windows, divided by the windows that cover the documents once.

    Detector and linker share one model, and each document has at least `tokens` tokens.
    """
    from onym.models.documents import windows
    from onym.models.tokens import Tokenizer
    from onym.testing.models import save_collective

    model = save_collective(folder / "model", window=_WINDOW, overlap=_OVERLAP)
    options = ("--detector", "model", "--detector-model", str(model), "--linker", "collective", "--model", str(model))
    pipeline = onym.load(build_pipeline(kb, folder / "collective", *options))
    tokenizer = Tokenizer.open(model)
    documents = make_documents(make_texts(count, sentences=tokens // 10))
    size = _WINDOW - len(tokenizer.before) - len(tokenizer.after)
    lengths = [len(tokenizer.tokenize_with_offsets(doc.text)) for doc in documents]
    if min(lengths) < tokens:
        raise ValueError(f"a document has only {min(lengths)} tokens")
    with count_rows() as rows:
        list(pipeline.link_many(documents))
    return round(sum(rows) / sum(len(windows(length, size, _OVERLAP)) for length in lengths), 3)


@contextmanager
def count_rows() -> Iterator[list[int]]:
    """Record the number of rows of each batch that a BERT encodes."""
    from transformers import BertModel

    rows: list[int] = []
    own = BertModel.forward

    def count_forward(self: BertModel, *arguments: Any, **options: Any) -> Any:
        ids = options.get("input_ids", arguments[0] if arguments else None)
        rows.append(0 if ids is None else len(ids))
        return own(self, *arguments, **options)

    with patch.object(BertModel, "forward", count_forward):
        yield rows
