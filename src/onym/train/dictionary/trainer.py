"""`onym train mentions`: train a classifier that decides which dictionary matches are mentions.

Finds dictionary matches in annotated documents, fits a logistic regression, and tunes thresholds on dev. Does not need torch.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onym.datasets.training import TrainingCorpus
from onym.errors import ConfigError, InputError, missing_extra
from onym.kb.ranking import ConceptFilter, select_concepts
from onym.methods.detector import Span
from onym.methods.dictionary.classifier import (
    SIZE,
    ClassifierSettings,
    Floats,
    Hints,
    MentionClassifier,
    context_features,
    row_of,
    surface_features,
    write_classifier,
)
from onym.methods.dictionary.detector import DictionaryDetector
from onym.store.markdown import table
from onym.store.output import whole_folder
from onym.text.analysis import analyse
from onym.train.card import ORIGIN_NOTE, describe_machine, format_card, pipeline_usage, write_record
from onym.train.configs import MentionsTrainingConfig, RegressionConfig
from onym.train.corpora import CorporaContext, rename_types
from onym.train.samples.swapped import SwappedNames
from onym.types import Document

THRESHOLDS = tuple(step / 20 for step in range(1, 20))
_log = logging.getLogger("onym.train")
Probabilities = Sequence[float]


def train_classifier(config: MentionsTrainingConfig, dest: Path, data: Path | None = None) -> Path:
    """Train a classifier and write it to `dest`. The same configuration and data give the same weights."""
    context = MentionsContext(config, data)
    parts = []
    for corpus in context.corpora:
        _log.info("%s", corpus.describe())
        documents = [*corpus.documents, *context.swapped.excerpts(corpus.documents, config.data.excerpts)]
        plain, own = (occurrences_of(context, corpus.name, documents, each) for each in ("", corpus.name))
        is_partial = corpus.name in config.data.partial
        parts += [plain.without_negatives(config.data.alike) if is_partial else plain, own]
    _log.info("fitting a classifier to %d dictionary matches", sum(len(part.rows) for part in parts))
    weights = fit_weights(parts, config.regression)
    _log.info("choosing thresholds on %s", config.dev.split)
    dev = {
        dataset.name: occurrences_of(context, dataset.name, context.rename(dataset.documents(config.dev.split)), "")
        for dataset in context.datasets
        if config.dev.split in dataset.splits
    }
    settings, figures = tune_thresholds(MentionClassifier(weights, ClassifierSettings(hints=True)), dev)
    for name, each in figures.items():
        f1s = each["f1"], each["f1_without"]
        _log.info("%s, dev: F1 of spans %.1f, without the classifier %.1f (threshold chosen on dev)", name, *f1s)
    record = _record(context, int(np.count_nonzero(weights)), settings, figures)
    with whole_folder(dest) as folder:
        write_classifier(weights, settings, record, folder.path)
        write_record(folder, record, card(record))
    return dest


def _record(context: MentionsContext, weights: int, settings: ClassifierSettings, figures: Any) -> dict[str, Any]:
    own = {"weights": weights, "thresholds": settings.model_dump(mode="json"), "metrics": {"dev": figures}}
    return context.origin | own | describe_machine("numpy", "scikit-learn")


def card(record: dict[str, Any]) -> str:
    """Return the card of a classifier, as Markdown."""
    does = "A logistic regression over a dictionary match and the words around it decides whether the match is a mention."
    facts = [
        *(f"- Corpus: {each['name']}, {each['documents']:,} documents ({each['licence']})" for each in record["corpora"]),
        f"- Knowledge base: {record['kb']['digest']} ({record['kb']['concepts']:,} concepts)",
        f"- Weights: {record['weights']:,}",
    ]
    figures = [
        (name, *(f"{each[key]:.1f}" for key in ("f1_without", "f1", "f1_by_convention")))
        for name, each in record["metrics"]["dev"].items()
    ]
    header = {"dev, F1 of spans": "---", "dictionary": "--:", "with the classifier": "--:", "as the corpus annotates": "--:"}
    usage = pipeline_usage("--detector-classifier THIS_FOLDER")
    return format_card("A classifier of dictionary matches", [does], facts, table(header, figures), usage, [ORIGIN_NOTE])


@dataclass(frozen=True)
class MentionsContext(CorporaContext[MentionsTrainingConfig]):
    """Inputs of a classifier training run; `data` has the raw files of datasets not yet prepared."""

    @cached_property
    def corpora(self) -> list[TrainingCorpus]:
        """The training corpora, with mention types renamed to semantic groups of the knowledge base."""
        return [replace(corpus, documents=self.rename(corpus.documents)) for corpus in self.training]

    def rename(self, documents: Iterable[Document]) -> tuple[Document, ...]:
        """Return documents with mention types renamed to semantic groups of the knowledge base."""
        return rename_types(documents, self.config.data.types)

    @cached_property
    def types_by_corpus(self) -> dict[str, frozenset[str]]:
        """The types that each corpus annotates, restricted to `data.only`."""
        only = self.config.data.only
        found = {corpus.name: {each.type for doc in corpus.documents for each in doc.mentions} for corpus in self.corpora}
        return {name: frozenset(kind for kind in types if not only or kind in only) for name, types in found.items()}

    @cached_property
    def swapped(self) -> SwappedNames:
        """Writes excerpts with other names."""
        return SwappedNames(self.kb, self.config.data.alike)

    @cached_property
    def dictionary(self) -> DictionaryDetector:
        """The dictionary detector whose matches are classified."""
        if self.config.dictionary.classifier is not None:
            what = "the dictionary already has a classifier"
            raise ConfigError("config-invalid", what, where="dictionary.classifier", fix="remove dictionary.classifier")
        undecided = MentionClassifier(np.zeros(SIZE, dtype=np.float32), ClassifierSettings(threshold=0, hints=True))
        only = select_concepts(self.kb, ConceptFilter(types=self.config.data.only))
        return DictionaryDetector(self.kb, self.config.dictionary, only=only, classifier=undecided)


class Occurrences(NamedTuple):
    """Dictionary matches in a corpus, their features, and whether each is gold; `gold` is the number of gold mentions."""

    documents: list[tuple[str, Span, Hints]]
    rows: list[list[int]]
    is_mention: npt.NDArray[np.bool_]
    gold: int

    def without_negatives(self, groups: Container[str]) -> Occurrences:
        """Return a copy without the matches of these semantic groups that are not gold."""
        marks = self.is_mention.tolist()
        kept = [row for row, (_, span, _) in enumerate(self.documents) if marks[row] or span.type not in groups]
        rows = [self.rows[row] for row in kept]
        return Occurrences([self.documents[row] for row in kept], rows, self.is_mention[kept], self.gold)


def occurrences_of(context: MentionsContext, corpus: str, documents: Sequence[Document], convention: str) -> Occurrences:
    """Return the dictionary matches of types that a corpus annotates. A match with the span of a gold mention is positive."""
    types, found, rows, marks, gold = context.types_by_corpus[corpus], [], [], [], 0
    alike = context.config.data.alike
    read = [analyse(doc) for doc in documents]
    for doc, candidates in zip(read, context.dictionary.find_candidates(read), strict=True):
        offsets = {(mention.start, mention.end) for mention in doc.mentions if mention.type in types}
        gold += len(offsets)
        for span, hints in candidates:
            if alike.get(span.type, span.type) in types:
                surface = doc.text[span.start : span.end]
                features = (*surface_features(surface, span.type, convention), *context_features(doc.text, span), *hints)
                found.append((doc.text, span, hints))
                rows.append([row_of(feature) for feature in features])
                marks.append((span.start, span.end) in offsets)
    return Occurrences(found, rows, np.array(marks, dtype=bool), gold)


def fit_weights(parts: Sequence[Occurrences], config: RegressionConfig) -> Floats:
    """Fit a logistic regression and return the weight of each feature."""
    try:
        from scipy.sparse import csr_matrix
        from sklearn.linear_model import LogisticRegression
    except ImportError as e:
        raise missing_extra("training a classifier", "train") from e
    rows = [row for part in parts for row in part.rows]
    is_mention = np.concatenate([part.is_mention for part in parts])
    if not is_mention.any() or is_mention.all():
        fix = "set data.kb to the knowledge base that has the gold ids of the datasets"
        raise InputError("training-empty", "either all dictionary matches are gold mentions, or none is", fix=fix)
    columns = np.array([column for row in rows for column in row], dtype=np.int32)
    starts = np.cumsum([0, *map(len, rows)])
    matrix = csr_matrix((np.ones(len(columns)), columns, starts), shape=(len(rows), SIZE))
    model = LogisticRegression(C=config.strength, max_iter=config.iterations, fit_intercept=False).fit(matrix, is_mention)
    return np.asarray(model.coef_[0], dtype=np.float32)


def tune_thresholds(
    classifier: MentionClassifier, found: Mapping[str, Occurrences]
) -> tuple[ClassifierSettings, dict[str, dict[str, float]]]:
    """Return settings with the best thresholds and, for each dataset, three F1 scores.

    The three are F1 without the classifier, with the general threshold, and with the dataset's own convention and threshold.
    The general threshold, used when no annotation convention is given, maximises the mean F1 over the datasets. Each dataset's
    convention gets its own threshold. If `found` is empty, return the default settings.
    """
    if not found:
        return classifier.settings, {}
    plain = {name: _probabilities(classifier, each, "") for name, each in found.items()}
    own = {name: _probabilities(classifier, each, name) for name, each in found.items()}
    general = max(THRESHOLDS, key=lambda least: sum(f1(found[name], plain[name], least) for name in found))
    conventions = {
        name: max(THRESHOLDS, key=lambda least, name=name: f1(found[name], own[name], least))  # type: ignore[misc]
        for name in found
    }
    figures = {
        name: {
            "f1_without": f1(each, plain[name], 0.0),
            "f1": f1(each, plain[name], general),
            "f1_by_convention": f1(each, own[name], conventions[name]),
        }
        for name, each in found.items()
    }
    return classifier.settings.model_copy(update={"threshold": general, "conventions": conventions}), figures


def f1(found: Occurrences, probabilities: Probabilities, least: float) -> float:
    """Return F1 in percent of the spans with a probability of at least `least`.

    >>> from onym.methods.detector import Span
    >>> both = Occurrences([("", Span(0, 1), ()), ("", Span(2, 3), ())], [[], []], np.array([True, False]), 2)
    >>> f1(both, [0.9, 0.2], 0.5)
    66.7
    """
    is_likely = np.array(probabilities) >= least
    right, predicted = int((is_likely & found.is_mention).sum()), int(is_likely.sum())
    return round(200 * right / (predicted + found.gold), 1) if predicted + found.gold else 0.0


def _probabilities(classifier: MentionClassifier, found: Occurrences, convention: str) -> Probabilities:
    return [classifier.probability(text, span, convention, hints) for text, span, hints in found.documents]
