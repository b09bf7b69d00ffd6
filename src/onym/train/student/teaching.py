"""Soft labels for the student: the spans that trained detectors find in documents without annotations, with probabilities.

Teachers are large neural detectors, or other students: several that were trained with different seeds know more together than
each of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path

from onym.corpora import documents_of, read_corpus
from onym.datasets import PreparedDataset
from onym.datasets.training import EvaluationDocuments
from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.methods.collective.model import open_shared
from onym.methods.detector import Span, resolve_overlaps
from onym.methods.student.detector import Tagger
from onym.methods.student.network import FOLDER, open_student
from onym.methods.tagger.spans import score_spans, select_types
from onym.parts import ModelReference, OpenContext
from onym.text.analysis import analyse
from onym.train.configs import TeachingConfig
from onym.types import Document

_LEAST = 0.1  # minimum probability of a span
_REPORTED = 1_000  # documents between two lines of the log
_log = logging.getLogger("onym.train")
Labelled = tuple[str, str, tuple[Span, ...]]
"""(text, convention, spans)."""
Teacher = Callable[[Document, str, Sequence[str]], Iterable[Span]]
"""Finds the spans of some types in a document, by a convention."""


def label_documents(
    config: TeachingConfig,
    kb: KnowledgeBase,
    datasets: Sequence[PreparedDataset],
    conventions: Mapping[str, Sequence[str]],
) -> Iterator[Labelled]:
    """Yield documents with the teachers' spans; documents that a dataset holds out are left out.

    The documents take turns in following the conventions.
    """
    teachers = [_open_teacher(Path(folder), kb) for folder in config.detectors]
    held_out, names = EvaluationDocuments.of(datasets), list(conventions)
    read = documents_of(read_corpus(config.documents))
    documents = islice((doc for doc in read if doc.text and not held_out.reason(doc)), config.limit)
    for number, doc in enumerate(documents):
        convention = names[number % len(names)]
        yield doc.text, convention, tuple(_label(teachers, doc, convention, conventions[convention]))
        if (number + 1) % _REPORTED == 0:
            _log.info("the teachers have labelled %d documents", number + 1)


def _open_teacher(folder: Path, kb: KnowledgeBase) -> Teacher:
    return _student_teacher(folder, kb) if (folder / FOLDER).is_dir() else _neural_teacher(folder)


def _student_teacher(folder: Path, kb: KnowledgeBase) -> Teacher:
    student = open_student(folder)
    conventions = student.settings.conventions
    known = {each for own in conventions.values() for each in own}

    @lru_cache
    def tagger(convention: str, types: tuple[str, ...]) -> Tagger:
        return Tagger(student, kb, convention if convention in conventions else "", types)

    def find(doc: Document, convention: str, types: Sequence[str]) -> Iterable[Span]:
        wanted = tuple(each for each in types if each in known)
        return tagger(convention, wanted).tag([analyse(doc)]).spans()[0] if wanted else ()

    return find


def _neural_teacher(folder: Path) -> Teacher:
    model = open_shared(ModelReference(path=str(folder)), "auto", "cpu", OpenContext())
    if model.settings.detect != "spans":
        fix = "use a model trained by onym train detect or onym train student"
        raise ConfigError("model-family", "the model does not score spans, so it cannot teach", where=model.name, fix=fix)

    def find(doc: Document, convention: str, types: Sequence[str]) -> Iterable[Span]:
        known = {label.type for label in model.settings.labels}
        has_convention = any(label.corpus == convention for label in model.settings.labels)
        wanted = select_types(model.settings, known & set(types), convention if has_convention else "", _LEAST)
        [read] = model.reader.read([doc])
        return score_spans(model, doc.text, read, wanted)

    return find


def _label(teachers: Sequence[Teacher], doc: Document, convention: str, types: Sequence[str]) -> list[Span]:
    """Return the best spans without overlaps, by the mean probability of the teachers."""
    chances: dict[tuple[int, int, str], float] = {}
    for find in teachers:
        for span in find(doc, convention, types):
            key = span.start, span.end, span.type
            chances[key] = chances.get(key, 0.0) + span.score / len(teachers)
    likely = (Span(start, end, chance, kind) for (start, end, kind), chance in chances.items() if chance >= _LEAST)
    return resolve_overlaps(likely)
