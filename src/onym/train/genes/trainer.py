"""`onym train genes`: train the trees of the gene linker, for the species of mentions and for the genes.

The documents are divided into folds. Trees for species are trained on all other folds to predict each fold; these predictions
are features of the trees for genes, as they are when the model is used. The same folds give the figures and the calibration.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from onym.calibrate import Isotonic, area_under_roc, expected_calibration_error
from onym.corpora.ids import KEY
from onym.errors import InputError
from onym.methods.genes.features import GeneFacts, GenePairs
from onym.methods.genes.index import NO_SPECIES, GeneNames
from onym.methods.genes.model import MEMORY, count_keys, write_gene_trees
from onym.methods.genes.organisms import PREFIX
from onym.methods.genes.reading import GeneReading
from onym.methods.genes.species import SpeciesEvidence, normalise
from onym.methods.trees.memory import Counts, KbMemory, Memory, Own, write_memory
from onym.methods.trees.trees import Floats, Ints, Trees
from onym.store.markdown import code, table
from onym.store.output import whole_folder
from onym.text.analysis import analyse
from onym.train.card import ORIGIN_NOTE, corpora_table, describe_machine, format_card, kb_line, write_record
from onym.train.configs import GenesTrainingConfig, OrganismsTrainingConfig, TreesConfig
from onym.train.corpora import CorporaContext
from onym.train.trees import fit_matrix
from onym.types import Document, Mention

_log = logging.getLogger("onym.train")
_TAXON = re.compile(r"\((?:tax|species):([0-9]+)\)", re.IGNORECASE)
Bools = npt.NDArray[np.bool_]


def train_genes(config: GenesTrainingConfig, dest: Path, data: Path | None = None) -> Path:
    """Train a gene model and write it to `dest`. The same configuration and data give the same trees."""
    context = GenesContext(config, data)
    species = species_rows(context)
    _log.info("species: %d mentions, %d rows", species.mentions, len(species.matrix))
    predicted = predict_folds(species, config.species_trees, config.folds)
    genes = gene_rows(context, _by_mention(species, predicted))
    _log.info("genes: %d mentions, %d rows", genes.mentions, len(genes.matrix))
    scores = predict_folds(genes, config.trees, config.folds)
    best = best_of(genes, scores)
    calibration, quality = calibrate(best)
    metrics = {"cross_validation": figures(context, best_of(species, predicted), genes, best), **quality}
    _log.info("%s", metrics)
    trees = fit(species, config.species_trees), fit(genes, config.trees)
    publish(context, trees, calibration, metrics, dest)
    return dest


C = TypeVar("C", bound=GenesTrainingConfig | OrganismsTrainingConfig)


@dataclass(frozen=True)
class AnnotatedContext(CorporaContext[C]):
    """Inputs of a training run on annotated mentions of some types, with a memory of them, in folds by document."""

    @cached_property
    def documents(self) -> list[tuple[str, Document]]:
        """The training documents with their corpus, and only with annotated mentions of the configured types."""
        found: list[tuple[str, Document]] = []
        for corpus in self.training:
            _log.info("%s", corpus.describe())
            for doc in corpus.documents:
                mentions = tuple(each for each in doc.mentions if each.type in self.config.data.types and each.concept_ids)
                if mentions:
                    found.append((corpus.name, analyse(replace(doc, mentions=mentions, relations=()))))
        if not found:
            fix = "set data.types to the types of the mentions in the datasets"
            raise InputError("training-empty", "no document has a mention of the configured types", fix=fix)
        return found

    @cached_property
    def corpus_of(self) -> npt.NDArray[np.object_]:
        """The corpus of each mention."""
        return np.array([corpus for corpus, doc in self.documents for _ in doc.mentions], dtype=object)

    @cached_property
    def folds(self) -> Ints:
        """The fold of each mention; all copies of a document are in one fold."""
        folds = self.config.folds
        return np.array([_fold(doc.id, folds) for _, doc in self.documents for _ in doc.mentions], dtype=np.int64)

    @cached_property
    def gold(self) -> list[frozenset[int]]:
        """The gold concepts of each mention that are in the knowledge base."""
        return [self.rows_of(mention) for _, doc in self.documents for mention in doc.mentions]

    def rows_of(self, mention: Mention) -> frozenset[int]:
        """Return the rows of a mention's gold concepts."""
        return frozenset(row for row in self.kb.resolve_many(list(mention.concept_ids)).tolist() if row >= 0)

    @cached_property
    def counts(self) -> Counts:
        """How often each key means each concept in the training documents."""
        return count_keys(doc for _, doc in self.documents)

    @cached_property
    def memory(self) -> KbMemory:
        """The memory of the training documents."""
        return KbMemory(Memory.of(self.counts), self.kb)

    @cached_property
    def _copies(self) -> dict[str, list[Document]]:
        found = defaultdict(list)
        for _, doc in self.documents:
            found[doc.id].append(doc)
        return found

    def own(self, doc: Document) -> Own:
        """Return the memory counts that come from a document, to be subtracted."""
        return self.memory.own(count_keys(self._copies[doc.id]))


@dataclass(frozen=True)
class GenesContext(AnnotatedContext[GenesTrainingConfig]):
    """Inputs of a training run of a gene model."""

    @cached_property
    def names(self) -> GeneNames:
        """The gene names of the knowledge base."""
        return GeneNames.open(self.kb)

    @cached_property
    def readings(self) -> list[GeneReading]:
        """What the mentions of each document may mean."""
        return [GeneReading.of(doc, self.names) for _, doc in self.documents]

    @cached_property
    def facts(self) -> GeneFacts:
        """What the features need to know of genes."""
        return GeneFacts(self.names, self.memory)


class FeatureRows(NamedTuple):
    """Rows of features: whether each is right, the mention that it belongs to, its label, and the fold of each mention."""

    matrix: Floats
    is_right: Bools
    owners: Ints
    labels: list[Any]
    folds: Ints

    @property
    def mentions(self) -> int:
        """The number of mentions."""
        return len(self.folds)

    @property
    def bounds(self) -> Ints:
        """The first row of each mention, and the number of all rows."""
        return np.searchsorted(self.owners, np.arange(self.mentions + 1))


class RowCollector(NamedTuple):
    """Collects rows mention by mention."""

    parts: list[Floats]
    right: list[bool]
    owners: list[int]
    labels: list[Any]

    def add(self, mention: int, labels: Sequence[Any], matrix: Floats, gold: Collection[Any]) -> None:
        """Add the rows of a mention; those whose label is in `gold` are right."""
        self.parts.append(matrix)
        self.right.extend(label in gold for label in labels)
        self.owners.extend([mention] * len(labels))
        self.labels.extend(labels)

    def rows(self, folds: Ints) -> FeatureRows:
        """Return all rows."""
        right, owners = np.array(self.right, dtype=bool), np.array(self.owners, dtype=np.int64)
        return FeatureRows(np.concatenate(self.parts), right, owners, self.labels, folds)


def species_rows(context: GenesContext) -> FeatureRows:
    """Return a row for each pair of a mention and a candidate species."""
    collected, number = RowCollector([], [], [], []), 0
    for reading in context.readings:
        signs = SpeciesEvidence(reading, context.names)
        for mention in reading.mentions:
            species, matrix = signs.features(mention)
            gold = gold_species(context.names, mention.mention, context.gold[number])
            collected.add(number, species, matrix, gold)
            number += 1
    return collected.rows(context.folds)


def gene_rows(context: GenesContext, species: Sequence[Mapping[str, float]]) -> FeatureRows:
    """Return a row for each pair of a mention and a candidate gene; `species` has the probabilities of species."""
    collected, number = RowCollector([], [], [], []), 0
    for (_, doc), reading in zip(context.documents, context.readings, strict=True):
        pairs = GenePairs(reading, context.facts, species[number : number + len(reading.mentions)], context.own(doc))
        for row in range(len(reading.mentions)):
            genes, matrix = pairs.features(row)
            collected.add(number, genes, matrix, context.gold[number])
            number += 1
    return collected.rows(context.folds)


def gold_species(names: GeneNames, mention: Mention, genes: Iterable[int]) -> frozenset[str]:
    """Return the species of a mention's gold genes, or those that its id column states: `5111(Species:9606)`."""
    known = frozenset(names.species_of(gene) for gene in genes if names.species[gene] != NO_SPECIES)
    stated = _TAXON.findall(dict(mention.notes).get(KEY, ""))
    return known or frozenset(f"{PREFIX}{taxon}" for taxon in stated)


def predict_folds(rows: FeatureRows, config: TreesConfig, folds: int) -> Floats:
    """Return the probability of each row, predicted by trees that were trained on the other folds."""
    found, fold = np.zeros(len(rows.matrix)), rows.folds[rows.owners]
    for number in range(folds):
        is_own = fold == number
        if is_own.any():
            trees = fit_matrix(rows.matrix[~is_own], rows.is_right[~is_own], config)
            found[is_own] = trees.probabilities(rows.matrix[is_own])
    return found


def fit(rows: FeatureRows, config: TreesConfig) -> Trees:
    """Train trees on all rows."""
    return fit_matrix(rows.matrix, rows.is_right, config)


def _by_mention(rows: FeatureRows, scores: Floats) -> list[dict[str, float]]:
    """Return the probabilities of species of each mention."""
    bounds = rows.bounds.tolist()
    return [
        dict(zip(rows.labels[start:end], normalise(scores[start:end].tolist()), strict=True)) for start, end in pairwise(bounds)
    ]


class Best(NamedTuple):
    """The best row of each mention: its score (0 if there is none), and whether it is right."""

    scores: Floats
    is_right: Bools


def best_of(rows: FeatureRows, scores: Floats) -> Best:
    """Return the best row of each mention."""
    found = Best(np.zeros(rows.mentions), np.zeros(rows.mentions, dtype=bool))
    bounds = rows.bounds.tolist()
    for mention, (start, end) in enumerate(pairwise(bounds)):
        if end > start:
            row = start + int(np.argmax(scores[start:end]))
            found.scores[mention], found.is_right[mention] = scores[row], rows.is_right[row]
    return found


def calibrate(best: Best) -> tuple[Isotonic, dict[str, float]]:
    """Fit the calibration of the best rows, and return it with its figures on the same rows."""
    fitted = Isotonic.fit(best.scores, best.is_right)
    error = expected_calibration_error(fitted.probabilities(best.scores), best.is_right)
    return fitted, {"ece": round(error, 4), "auroc": round(area_under_roc(best.scores, best.is_right), 4)}


def figures(context: GenesContext, of_species: Best, genes: FeatureRows, best: Best) -> dict[str, dict[str, float]]:
    """Return, by corpus: recall@1 of genes, its upper bound, and the accuracy of species, in percent of all gold mentions."""
    reachable = np.bincount(genes.owners, genes.is_right, minlength=genes.mentions) > 0
    rates = {"strict_r1": best.is_right, "candidates_with_gold": reachable, "species": of_species.is_right}
    found: dict[str, dict[str, float]] = {}
    for corpus in dict.fromkeys(context.corpus_of.tolist()):
        is_own = context.corpus_of == corpus
        found[corpus] = {name: round(100 * float(values[is_own].mean()), 1) for name, values in rates.items()}
        found[corpus]["mentions"] = int(is_own.sum())
    return found


def publish(
    context: GenesContext, trees: tuple[Trees, Trees], calibration: Isotonic, metrics: Mapping[str, Any], dest: Path
) -> None:
    """Write the folder atomically: it appears only when complete."""
    sizes = {"trees": sum(len(each.roots) for each in trees), "nodes": sum(len(each.feature) for each in trees)}
    record = context.origin | sizes | {"metrics": dict(metrics)} | describe_machine("numpy", "scikit-learn")
    with whole_folder(dest) as folder:
        write_memory(context.counts, record["corpora"], folder.path / MEMORY)
        write_gene_trees(folder.path, trees, calibration, context.kb.digest, record)
        write_record(folder, record, card(record))


def card(record: Mapping[str, Any]) -> str:
    """Return the card of a gene model, as Markdown."""
    does = [
        "Gradient-boosted trees find the species of a gene mention, then the gene of that name. `memory` holds how often a",
        "name was annotated with a gene in the training documents of these corpora.",
    ]
    facts = [kb_line(record["kb"]), f"- Trees: {record['trees']:,}, with {record['nodes']:,} nodes"]
    usage = code("console", "$ onym link --kb KB_FOLDER --linker genes --model THIS_FOLDER corpus.pubtator")
    title = "A linker of genes of many species"
    return format_card(title, does, facts, corpora_table(record), _figures_table(record), usage, [ORIGIN_NOTE])


def _figures_table(record: Mapping[str, Any]) -> list[str]:
    header = {
        "cross-validation": "---",
        "strict recall@1": "--:",
        "gold is a candidate": "--:",
        "species": "--:",
        "mentions": "--:",
    }
    rows = (
        (name, *(f"{each[key]:.1f}" for key in ("strict_r1", "candidates_with_gold", "species")), f"{each['mentions']:,}")
        for name, each in record["metrics"]["cross_validation"].items()
    )
    return table(header, rows)


def _fold(document_id: str, folds: int) -> int:
    return int.from_bytes(hashlib.sha256(document_id.encode()).digest()[:8], "big") % folds
