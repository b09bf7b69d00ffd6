"""`onym train rerank`: train gradient-boosted trees on features of pooled candidates of annotated mentions.

The steps are: memory, candidates, features, trees, evaluation on dev, calibration. Does not need torch.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onym.calibrate import Isotonic, area_under_roc, expected_calibration_error
from onym.datasets.training import TrainingCorpus
from onym.errors import ConfigError
from onym.evaluate.cases import ConceptResolver
from onym.evaluate.own_names import KINDS, sample_names
from onym.kb import KnowledgeBase
from onym.methods.dense import linker as dense
from onym.methods.reranker.decided import let_names_decide
from onym.methods.reranker.features import FEATURES, NAMES, FeatureMaker, TypeShares
from onym.methods.reranker.linker import RerankParts, open_parts
from onym.methods.reranker.model import MEMORY, RerankerOrigin, write_reranker
from onym.methods.reranker.pool import Pooling
from onym.methods.trees.memory import Counts, KbMemory, Memory, Own, count_mentions, write_memory
from onym.methods.trees.trees import Floats, Ints, Trees
from onym.packs.locate import locate_kb
from onym.parts import OpenContext
from onym.store.markdown import code, table
from onym.store.output import whole_folder
from onym.text.analysis import analyse
from onym.text.queries import queries_of
from onym.train.card import ORIGIN_NOTE, corpora_table, describe_machine, format_card, kb_line, write_record
from onym.train.configs import RerankTrainingConfig, TreesConfig
from onym.train.corpora import CorporaContext
from onym.train.trees import fit_matrix
from onym.types import Document, Mention

_log = logging.getLogger("onym.train")
_BATCH = 64  # documents per batch


def train_reranker(config: RerankTrainingConfig, dest: Path, data: Path | None = None) -> Path:
    """Train a reranker and write it to `dest`. The same configuration and data give the same trees."""
    context = RerankContext(config, data)
    columns, follow = context.columns, config.dev.follow_annotations
    training = training_pairs(context)
    _log.info("fitting trees to %d pairs of a mention and a candidate", len(training.matrix))
    trees = fit_trees(training, columns, config.trees)
    _log.info("%d trees over %d features", len(trees.roots), len(columns))
    outcomes: dict[str, Outcomes] = {}
    metrics: dict[str, Any] = {"dev": {}}
    for dataset in context.datasets:
        if config.dev.split in dataset.splits:
            _log.info("linking the annotated mentions of %s, %s", dataset.name, config.dev.split)
            documents = context.of_types(dataset.documents(config.dev.split))
            pairs = pairs_of(context, documents, is_training=False, follow_annotations=follow)
            outcomes[dataset.name] = outcomes_of(trees, columns, pairs, follow_annotations=follow)
            metrics["dev"][dataset.name] = figures_of(pairs, outcomes[dataset.name])
            _log.info("%s, dev: %s", dataset.name, describe_figures(metrics["dev"][dataset.name]))
    calibration = None
    if config.dev.calibrate and outcomes:
        calibration, quality = fit_calibration(outcomes)
        metrics |= quality
    publish(context, trees, calibration, metrics, dest)
    return dest


def training_pairs(context: RerankContext) -> Pairs:
    """Return the pairs of all training documents, and of names of the knowledge base.

    The memory features of a document ignore its own mentions.
    """
    parts = []
    for corpus in context.corpora:
        _log.info("%s", corpus.describe())
        parts.append(pairs_of(context, corpus.documents, is_training=True))
    if context.config.data.terms:
        named = context.terms
        _log.info("finding candidates of %d names of the knowledge base", len(named))
        parts.append(pairs_of(context, named, is_training=False, kb=context.kb))
    found, before = [], 0
    for pairs in parts:
        found.append(pairs._replace(owners=pairs.owners + before))
        before += len(pairs.is_in_kb)
    return join_pairs(found)


@dataclass(frozen=True)
class RerankContext(CorporaContext[RerankTrainingConfig]):
    """Inputs of a reranker training run; `data` has the raw files of datasets not yet prepared."""

    @cached_property
    def corpora(self) -> list[TrainingCorpus]:
        """The training corpora, with only mentions of the configured types."""
        return [replace(corpus, documents=tuple(self.of_types(corpus.documents))) for corpus in self.training]

    def of_types(self, documents: Iterable[Document]) -> list[Document]:
        """Return documents with only mentions of the configured types."""
        types = self.config.data.types
        return [
            replace(doc, mentions=tuple(each for each in doc.mentions if not types or each.type in types)) for doc in documents
        ]

    @cached_property
    def parts(self) -> RerankParts:
        """The linkers that propose candidates."""
        pool = self.config.pool
        encoder = dense.DenseLinkerConfig.from_options({"model": pool.encoder, "index": pool.index}) if pool.encoder else None
        return open_parts(self.kb, OpenContext(), encoder)

    @cached_property
    def counts(self) -> Counts:
        """How often each surface means each concept in the training documents."""
        return count_mentions(doc for corpus in self.corpora for doc in corpus.documents)

    @cached_property
    def memory(self) -> KbMemory:
        """The memory of the training documents."""
        return KbMemory(Memory.of(self.counts), self.kb)

    @cached_property
    def annotated_kb(self) -> KnowledgeBase:
        """The knowledge base with a preference for the vocabulary of most annotations, for annotated mentions."""
        rows = self.memory.totals
        found: Counter[str] = Counter()
        for concept in np.flatnonzero(rows).tolist():
            found[self.kb.order.vocabulary_of(concept)] += int(rows[concept])
        prefer = [vocabulary for vocabulary, _ in found.most_common(1)]
        return KnowledgeBase.open(locate_kb(self.config.data.kb), prefer=prefer)

    @cached_property
    def terms(self) -> list[Document]:
        """Names of the knowledge base, each as a document of one mention; every second one has a mention type."""
        kinds = TypeShares.of(self.kb.concept_groups, len(self.kb.groups), self.memory)
        found = []
        count, seed = self.config.data.terms, self.config.trees.seed
        names = [name for kind in KINDS for name in sample_names(self.kb, kind, count // 2, seed=seed)]
        for number, name in enumerate(names):
            of_type = kinds.likeliest_type(name.concept) if number % 2 else ""
            mention = Mention(0, len(name.form), name.form, (self.kb.concept_ids[name.concept],), of_type)
            found.append(Document(f"name {number}", name.form, (mention,)))
        return found

    @cached_property
    def _copies(self) -> dict[str, list[Document]]:
        """The training documents by id; several corpora may contain the same document."""
        found = defaultdict(list)
        for corpus in self.corpora:
            for doc in corpus.documents:
                found[doc.id].append(doc)
        return found

    def own(self, doc: Document) -> Own:
        """Return the memory counts that come from this training document, to be subtracted."""
        return self.memory.own(count_mentions(self._copies[doc.id]))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the features to train on."""
        without = set(self.config.trees.without)
        if unknown := sorted(without - {feature.group for feature in FEATURES}):
            known = ", ".join(dict.fromkeys(feature.group for feature in FEATURES))
            what = f"unknown feature group {unknown[0]!r}"
            raise ConfigError("config-invalid", what, where="trees.without", fix=f"use feature groups from this list: {known}")
        left = [feature.name for feature in FEATURES if feature.group not in without]
        return tuple(name for name in left if self.config.pool.encoder or not name.startswith("dense"))


class Pairs(NamedTuple):
    """Mention-candidate pairs: features, whether the candidate is right, and the index of the mention (`owners`).

    Per mention: whether all its gold ids are in the KB, whether its surface is in the memory, and its type.
    """

    matrix: Floats
    is_right: npt.NDArray[np.bool_]
    owners: Ints
    concepts: Ints
    is_in_kb: npt.NDArray[np.bool_]
    is_seen: npt.NDArray[np.bool_]
    types: npt.NDArray[np.object_]


def pairs_of(
    context: RerankContext,
    documents: Sequence[Document],
    *,
    is_training: bool,
    kb: KnowledgeBase | None = None,
    follow_annotations: bool = False,
) -> Pairs:
    """Return the pairs of all mentions; a training document's own mentions are first subtracted from the memory counts.

    Which names decide depends on the vocabulary that `kb` prefers: by default that of the annotations. Trees learn from names
    alone, so that they do not depend on whether linking follows the annotations.
    """
    pooling = Pooling(
        kb or context.annotated_kb,
        context.memory,
        skips_names=context.config.pool.skip_names,
        follow_annotations=follow_annotations,
    )
    maker = FeatureMaker(context.kb, context.memory, context.parts.similarity)
    resolver = ConceptResolver(context.kb)
    found, before = [], 0
    for batch in _batches(documents):
        own = [context.own(doc) for doc in batch] if is_training else None
        queries = [queries_of(doc) for doc in batch]
        pool = pooling.pool(queries, context.parts.propose(list(chain(*queries))), own=own)
        gold = [right_concepts(each.mention, resolver) for each in pool.mentions]
        ids = [context.kb.concept_ids[concept] for concept in pool.concepts.tolist()]
        found.append(
            Pairs(
                matrix=maker.features(pool).matrix,
                is_right=np.array([one in gold[owner] for one, owner in zip(ids, pool.owners, strict=True)], dtype=bool),
                owners=pool.owners + before,
                concepts=pool.concepts,
                is_in_kb=np.array([resolver.is_in_kb(each.mention) for each in pool.mentions], dtype=bool),
                is_seen=np.array([bool(each.recalled_query or each.recalled_surface) for each in pool.mentions], dtype=bool),
                types=np.array([each.mention.type for each in pool.mentions], dtype=object),
            )
        )
        before += len(pool.mentions)
    return join_pairs(found)


def join_pairs(parts: Sequence[Pairs]) -> Pairs:
    """Concatenate pairs whose `owners` are already numbered consecutively."""
    return Pairs(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def right_concepts(mention: Mention, resolver: ConceptResolver) -> frozenset[str]:
    """Return the concepts that are right answers; empty for a composite mention, which no single concept answers."""
    groups: list[frozenset[str]] = []
    for concept_id in dict.fromkeys(mention.concept_ids):
        group = resolver.concepts_with_id(concept_id)
        if not any(group & other for other in groups):
            groups.append(group)
    return groups[0] if len(groups) == 1 else frozenset()


def _batches(documents: Sequence[Document]) -> Iterator[list[Document]]:
    for start in range(0, len(documents), _BATCH):
        yield [analyse(doc) for doc in documents[start : start + _BATCH]]


def fit_trees(pairs: Pairs, columns: tuple[str, ...], config: TreesConfig) -> Trees:
    """Fit trees that predict from these feature columns whether a pair is right."""
    return fit_matrix(pairs.matrix[:, [NAMES.index(name) for name in columns]], pairs.is_right, config)


class Outcomes(NamedTuple):
    """The best candidate of each mention: its probability (0 if there are no candidates), and whether it is right."""

    probabilities: Floats
    is_right: npt.NDArray[np.bool_]


def outcomes_of(trees: Trees, columns: tuple[str, ...], pairs: Pairs, *, follow_annotations: bool = True) -> Outcomes:
    """Return the outcome of the best candidate of each mention. Annotations of training documents may overrule names."""
    scores = trees.probabilities(pairs.matrix[:, [NAMES.index(name) for name in columns]])
    scores = let_names_decide(scores, pairs.matrix, pairs.owners, follow_annotations=follow_annotations)
    order = np.lexsort((pairs.concepts, -scores, pairs.owners))
    owners, first = np.unique(pairs.owners[order], return_index=True)
    best, size = order[first], len(pairs.is_in_kb)
    probabilities, is_right = np.zeros(size), np.zeros(size, dtype=bool)
    probabilities[owners], is_right[owners] = scores[best], pairs.is_right[best]
    return Outcomes(probabilities, is_right)


def figures_of(pairs: Pairs, found: Outcomes) -> dict[str, float]:
    """Return recall@1 in percent on mentions in the KB: overall, for surfaces seen and unseen in training, and by type."""
    parts = {"strict_r1": pairs.is_in_kb, "seen": pairs.is_in_kb & pairs.is_seen, "unseen": pairs.is_in_kb & ~pairs.is_seen}
    types = sorted(set(pairs.types.tolist()))
    parts |= {f"type {name}": pairs.is_in_kb & (pairs.types == name) for name in types if name and len(types) > 1}
    figures = {name: round(100 * float(found.is_right[rows].mean()), 1) for name, rows in parts.items() if rows.any()}
    return figures | {"mentions": len(pairs.is_in_kb), "in_kb": int(pairs.is_in_kb.sum())}


def describe_figures(figures: Mapping[str, float]) -> str:
    """Return recall@1 in words.

    >>> describe_figures({"strict_r1": 88.0, "seen": 100.0, "unseen": 85.3, "mentions": 20, "in_kb": 10})
    '88.0 % of 10 annotated mentions linked right; with a surface seen in training 100.0 %, unseen 85.3 %'
    """
    words = {"seen": "with a surface seen in training", "unseen": "unseen"}
    parts = ", ".join(f"{words[key]} {figures[key]:.1f} %" for key in words if key in figures)
    return f"{figures.get('strict_r1', 0):.1f} % of {figures['in_kb']:,} annotated mentions linked right; {parts}".rstrip("; ")


def fit_calibration(found: Mapping[str, Outcomes]) -> tuple[Isotonic, dict[str, float]]:
    """Fit a calibration on the outcomes of all dev splits, and return it with its ECE and AUROC on the same data."""
    scores = np.concatenate([each.probabilities for each in found.values()])
    right = np.concatenate([each.is_right for each in found.values()])
    fitted = Isotonic.fit(scores, right)
    error = expected_calibration_error(fitted.probabilities(scores), right)
    return fitted, {"ece_on_dev": round(error, 4), "auroc_on_dev": round(area_under_roc(scores, right), 4)}


def publish(context: RerankContext, trees: Trees, calibration: Isotonic | None, metrics: Mapping[str, Any], dest: Path) -> None:
    """Write the folder atomically: it appears only when complete."""
    record = record_of(context, trees, metrics)
    encoder = context.parts.encoder
    origin = RerankerOrigin(
        features=context.columns,
        parts=tuple(context.parts.linkers),
        encoder=encoder,
        kb=context.kb.digest,
        skips_names=context.config.pool.skip_names,
    )
    with whole_folder(dest) as folder:
        write_memory(context.counts, record["corpora"], folder.path / MEMORY)
        write_reranker(folder.path, origin, trees, calibration, record)
        write_record(folder, record, card(record))


def record_of(context: RerankContext, trees: Trees, metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return the training record of a reranker: its inputs and metrics."""
    own = {
        "parts": list(context.parts.linkers),
        "features": list(context.columns),
        "trees": len(trees.roots),
        "nodes": len(trees.feature),
        "metrics": dict(metrics),
    }
    return context.origin | own | describe_machine("numpy", "scikit-learn")


def card(record: Mapping[str, Any]) -> str:
    """Return the card of a reranker, as Markdown."""
    does = [
        "Gradient-boosted trees order pooled candidates by the probability that each is the right concept. `memory` holds how",
        "often a surface meant a concept in the training documents of these corpora.",
    ]
    facts = [
        kb_line(record["kb"]),
        f"- Candidates of: {', '.join(record['parts'])}, exact names, memory",
        f"- Trees: {record['trees']:,}, with {record['nodes']:,} nodes, over {len(record['features'])} features",
    ]
    usage = code("console", "$ onym link --kb KB_FOLDER --linker rerank --model THIS_FOLDER corpus.pubtator")
    title = "A reranker of entity linking candidates"
    return format_card(title, does, facts, corpora_table(record), _figures_table(record), usage, [ORIGIN_NOTE])


def _figures_table(record: Mapping[str, Any]) -> list[str]:
    header = {"dev, strict recall@1": "---", "all": "--:", "seen surfaces": "--:", "unseen": "--:", "mentions in the KB": "--:"}
    rows = (
        (name, *(_percent(each, key) for key in ("strict_r1", "seen", "unseen")), f"{each['in_kb']:,}")
        for name, each in record["metrics"].get("dev", {}).items()
    )
    return table(header, rows)


def _percent(figures: Mapping[str, float], key: str) -> str:
    return f"{figures[key]:.1f}" if key in figures else "-"
