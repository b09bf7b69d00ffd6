"""`onym train student`: train a small detector that runs on NumPy (`onym.methods.student.network`).

Learns tags of tokens (BIOES) from annotated documents: the tags of each corpus have their own columns, and share what the types
have in common. Types that a corpus does not annotate are no tags of it, so they are neither right nor wrong there. Optionally
learns from the probabilities of trained detectors too. Needs torch; a few CPU minutes, no accelerator.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from onym.datasets.prepared import open_dataset
from onym.datasets.training import TrainingCorpus
from onym.errors import InputError
from onym.methods.detector import Span
from onym.methods.student.detector import Tagger
from onym.methods.student.name_bits import groups_in
from onym.methods.student.network import Student, StudentSettings, write_student
from onym.store.markdown import table
from onym.store.output import whole_folder
from onym.text.analysis import analyse
from onym.train.card import ORIGIN_NOTE, describe_machine, format_card, pipeline_usage, write_record
from onym.train.configs import StudentTrainingConfig
from onym.train.corpora import CorporaContext, rename_types
from onym.train.samples.swapped import SwappedNames
from onym.train.student.tagged import TaggedSample
from onym.types import Document

THRESHOLDS = tuple(step / 20 for step in range(20))
_BATCH = 64
_log = logging.getLogger("onym.train")
Offsets = set[tuple[int, int, str]]


def train_student(config: StudentTrainingConfig, dest: Path, data: Path | None = None) -> Path:
    """Train a student and write it to `dest`. The same configuration, data and machine give the same weights."""
    from onym.train.student.network import train_network  # needs torch

    context = StudentContext(config, data)
    settings = context.settings
    for corpus in context.corpora:
        _log.info("%s", corpus.describe())
    started = time.process_time()
    student = train_network(context.samples, settings, context.kb, config.optim)
    seconds = round(time.process_time() - started, 1)
    _log.info("choosing thresholds on %s", config.dev.split)
    thresholds, figures = tune(context, student)
    for name, each in figures.items():
        f1s = each["f1"], each["f1_by_convention"]
        _log.info("%s, dev: F1 of typed spans %.1f, as this corpus annotates %.1f (thresholds chosen on dev)", name, *f1s)
    student = replace(student, settings=settings.model_copy(update={"thresholds": thresholds}))
    record = _record(context, student, figures, seconds)
    with whole_folder(dest) as folder:
        write_student(student, record, folder.path)
        write_record(folder, record, card(record))
    return dest


@dataclass(frozen=True)
class StudentContext(CorporaContext[StudentTrainingConfig]):
    """Inputs of a student's training run; `data` has the raw files of datasets not yet prepared."""

    @cached_property
    def corpora(self) -> list[TrainingCorpus]:
        """The training corpora, with renamed mention types."""
        types = self.config.data.types
        return [replace(corpus, documents=rename_types(corpus.documents, types)) for corpus in self.training]

    @cached_property
    def settings(self) -> StudentSettings:
        """The settings of the network: the knowledge base's groups, and the types that each corpus annotates."""
        found = {
            each.name: sorted({mention.type for doc in each.documents for mention in doc.mentions}) for each in self.corpora
        }
        conventions = {name: tuple(types) for name, types in sorted(found.items()) if types}
        if not conventions:
            fix = "use datasets with annotated mentions, or check data.types"
            raise InputError("training-empty", "the documents have no annotated mentions", fix=fix)
        network = self.config.network.model_dump()
        return StudentSettings(groups=groups_in(self.kb), conventions=conventions, **network)

    @cached_property
    def samples(self) -> list[TaggedSample]:
        """The annotated documents, and those labelled by teachers."""
        teaching, data = self.config.teaching, self.config.data
        swapped = SwappedNames(self.kb, data.alike, self.config.optim.seed)
        gold = [
            TaggedSample(doc.text, corpus.name, tuple(Span(each.start, each.end, type=each.type) for each in doc.mentions))
            for corpus in self.corpora
            if corpus.name in self.settings.conventions
            for doc in (*corpus.documents, *swapped.excerpts(corpus.documents, data.excerpts))
        ]
        if teaching is None:
            return gold
        from onym.train.student.teaching import label_documents  # needs torch

        excluded = [open_dataset(name, self.data) for name in self.config.data.exclude]
        labelled = label_documents(teaching, self.kb, [*self.datasets, *excluded], self.settings.conventions)
        return [*gold, *(TaggedSample(text, convention, spans) for text, convention, spans in labelled)]

    def dev(self) -> dict[str, tuple[Document, ...]]:
        """Return the dev documents of each corpus that has them, if the student learns its convention."""
        split, types = self.config.dev.split, self.config.data.types
        found = (each for each in self.datasets if split in each.splits and each.name in self.settings.conventions)
        return {each.name: rename_types(each.documents(split), types) for each in found}


def tune(context: StudentContext, student: Student) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Return the thresholds with the best F1 on dev, and the figures of each dataset.

    The general threshold, without a convention, maximises the mean over the datasets.
    """
    documents = context.dev()
    own: dict[str, float] = {}
    figures: dict[str, dict[str, float]] = {}
    general: dict[str, list[float]] = {}
    for name, docs in documents.items():
        types = student.settings.conventions.get(name, ())
        gold = gold_spans(docs, types)
        curve = f1_curve(gold, find_spans(Tagger(student, context.kb, name, types), docs))
        general[name] = f1_curve(gold, find_spans(Tagger(student, context.kb, "", types), docs))
        own[name] = THRESHOLDS[int(np.argmax(curve))]
        figures[name] = {"f1_by_convention": max(curve)}
    if not documents:
        return {}, {}
    best = int(np.argmax(np.mean(list(general.values()), axis=0)))
    for name, curve in general.items():
        figures[name] |= {"f1": curve[best]}
    return {"": THRESHOLDS[best], **own}, figures


def gold_spans(documents: Sequence[Document], types: Sequence[str]) -> list[Offsets]:
    """Return the annotated spans of some types in each document."""
    return [{(each.start, each.end, each.type) for each in doc.mentions if each.type in types} for doc in documents]


def find_spans(tagger: Tagger, documents: Sequence[Document]) -> list[list[Span]]:
    """Return the spans in each document, whatever their probability."""
    batches = (documents[start : start + _BATCH] for start in range(0, len(documents), _BATCH))
    return [spans for batch in batches for spans in tagger.tag([analyse(doc) for doc in batch]).spans()]


def f1_curve(gold: Sequence[Offsets], found: Sequence[Sequence[Span]]) -> list[float]:
    """Return F1 of typed spans in percent, for each of `THRESHOLDS`.

    >>> f1_curve([{(0, 3, "a")}], [[Span(0, 3, 0.9, "a"), Span(5, 6, 0.4, "a")]])[::10]
    [66.7, 100.0]
    """
    scored = [
        (span.score, (span.start, span.end, span.type) in wanted)
        for wanted, spans in zip(gold, found, strict=True)
        for span in spans
    ]
    scores, is_right = np.array([score for score, _ in scored]), np.array([right for _, right in scored], dtype=bool)
    total = sum(map(len, gold))
    return [_f1(int((is_right & (scores >= least)).sum()), int((scores >= least).sum()), total) for least in THRESHOLDS]


def _f1(right: int, predicted: int, gold: int) -> float:
    return round(200 * right / (predicted + gold), 1) if predicted + gold else 0.0


def _record(context: StudentContext, student: Student, figures: Any, seconds: float) -> dict[str, Any]:
    parameters = student.table.size + sum(values.size for values in student.weights.values())
    own = {
        "parameters": parameters,
        "conventions": student.settings.conventions,
        "thresholds": student.settings.thresholds,
        "metrics": {"dev": figures},
        "cpu_seconds": seconds,
        "samples": len(context.samples),
    }
    return context.origin | own | describe_machine("numpy", "torch")


def card(record: dict[str, Any]) -> str:
    """Return the card of a student, as Markdown."""
    does = "A small network over words and the names of a knowledge base tags the mentions of a text and their types."
    facts = [
        *(f"- Corpus: {each['name']}, {each['documents']:,} documents ({each['licence']})" for each in record["corpora"]),
        f"- Knowledge base: {record['kb']['digest']} ({record['kb']['concepts']:,} concepts)",
        f"- Parameters: {record['parameters']:,}; trained in {record['cpu_seconds']:,.0f} CPU-seconds",
    ]
    figures = [
        (name, *(f"{each[key]:.1f}" for key in ("f1", "f1_by_convention"))) for name, each in record["metrics"]["dev"].items()
    ]
    header = {"dev, F1 of typed spans": "---", "in general": "--:", "as the corpus annotates": "--:"}
    usage = pipeline_usage("--detector student --detector-model THIS_FOLDER")
    return format_card("A small detector of mentions", [does], facts, table(header, figures), usage, [ORIGIN_NOTE])
