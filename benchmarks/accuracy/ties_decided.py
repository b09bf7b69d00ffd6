"""Compute figures before and after ties are broken, and the share and accuracy of each tie-breaking rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.accuracy.kb_open import RECIPE
from benchmarks.bare import bare_pipeline
from benchmarks.models import model_folder
from benchmarks.report import data_folder, percent
from benchmarks.results.store import FOLDER, Store
from benchmarks.results.tasks import SPLITS
from onym.corpora.problems import require_complete
from onym.evaluate.cases import Case
from onym.evaluate.evaluation import make_cases
from onym.evaluate.metrics import gold_ranks, recall_at
from onym.evaluate.task import EvaluationTask
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.order import RULES, Key, deciding_rule
from onym.kb.ranking import concepts_with_ids, names_of
from onym.kb.recipe import Recipe
from onym.methods.base import Linker
from onym.methods.exact import ExactLinker
from onym.methods.tfidf import TfidfLinker
from onym.outputs.predictions import Answer, Prediction, Predictions, predictions_of
from onym.pipeline.pipeline import DECIDED
from onym.store.cache import cache_folder
from onym.types import Candidate, Link, LinkedDocument

TOP_K = 10
Span = tuple[str, int, int]


@dataclass
class Rules:
    """Counts per rule: ties it broke, ties it broke correctly, and ties that include the right concept."""

    decided: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    possible: Counter[str] = field(default_factory=Counter)

    def add(self, other: Rules) -> None:
        """Add the counts of another linker or split."""
        self.decided += other.decided
        self.right += other.right
        self.possible += other.possible

    def figures(self) -> dict[str, dict[str, float]]:
        """Return, per rule, its share of the ties, its accuracy, and the share of its ties that include the right concept."""
        return {
            rule: {
                "share_pct": percent(self.decided[rule], self.decided.total()),
                "accuracy_pct": percent(self.right[rule], self.decided[rule]),
                "possible_pct": percent(self.possible[rule], self.decided[rule]),
                "ties": self.decided[rule],
            }
            for rule in RULES
        }


def measure(linker: Linker, task: EvaluationTask) -> tuple[dict[str, float], Rules]:
    """Return the figures of a linker before and after ties are broken, and the counts per rule."""
    pipeline = bare_pipeline(linker, TOP_K)
    linked = list(require_complete(pipeline.link_many(task.dataset.documents(task.split))))
    made = Predictions.of(predictions_of(linked), pipeline.source())
    figures, cases = compare(task, forget_order(made), made)
    return figures, rules_of(linked, cases, task.kb)


def compare(task: EvaluationTask, before: Predictions, after: Predictions) -> tuple[dict[str, float], list[Case]]:
    """Return the figures before and after ties are broken, and the scored cases of `after`."""
    figures: dict[str, float] = {}
    cases: list[Case] = []
    for name, predictions in (("before", before), ("after", after)):
        cases = [case for case in make_cases(task, predictions) if case.is_in_kb]
        for protocol in ("strict", "any-id"):
            found = recall_at(gold_ranks(cases, protocol), 1)
            figures[f"{protocol.replace('-', '_')}_{name}"] = round(100 * found, 1)
    return {"mentions": len(cases), **figures}, cases


def forget_order(predictions: Predictions) -> Predictions:
    """Return the predictions without their `order` metadata, so that a tie counts as wrong."""
    return replace(predictions, source={key: value for key, value in predictions.source.items() if key != "order"})


def decide_by_ids(predictions: Predictions, kb: KnowledgeBase) -> Predictions:
    """Sort stored predictions by score, then by tie-breaking rules. They have no names, so the rules for names do not apply."""

    def sort_answers(one: Prediction) -> Prediction:
        return replace(one, answers=tuple(sorted(one.answers, key=lambda answer: (-answer[1], _key(answer, kb)))))

    source = predictions.source | {"order": {"ties": DECIDED, "vocabularies": list(kb.order.vocabularies)}}
    return Predictions.of(map(sort_answers, predictions), source)


def _key(answer: Answer, kb: KnowledgeBase) -> Key:
    row = kb.concept_ids.find(answer[0][0])
    return kb.order.key(row) if row >= 0 else (len(kb.order.vocabularies),)  # ids that are not in the KB come last


def rules_of(linked: Sequence[LinkedDocument], cases: Sequence[Case], kb: KnowledgeBase) -> Rules:
    """Count, per rule, the ties it broke: it ranked the first candidate above the second.

    Also count those where the first candidate is right, and those where the right concept is among the tied candidates.
    """
    links = {(each.document.id, link.mention.start, link.mention.end): link for each in linked for link in each.links}
    rules = Rules()
    for case, rank in zip(cases, gold_ranks(cases, "strict"), strict=True):
        tied = [link for link in _links(case, links) if link.tied]
        if len(case.mentions) == 1 and tied:
            first, second = (_candidate_key(each, kb) for each in tied[0].candidates[:2])
            rule = deciding_rule(first, second)
            rules.decided[rule] += 1
            rules.right[rule] += rank == 1
            rules.possible[rule] += rank is not None and rank <= tied[0].tied + 1
    return rules


def _links(case: Case, links: dict[Span, Link]) -> list[Link]:
    return [links[case.document_id, mention.start, mention.end] for mention in case.mentions]


def _candidate_key(candidate: Candidate, kb: KnowledgeBase) -> Key:
    return kb.order.key(kb.concept_ids.find(candidate.concept_id), kb.find(candidate.name))


# Linkers whose ties are measured, over the open knowledge base.

DATASET = "ncbi_disease_open"
DENSE_ROWS = {"dev": f"{DATASET}/start/flat-own-on-dev", "test": f"{DATASET}/start/flat-own"}
GENERATIVE_ROWS = {"dev": f"{DATASET}/preferred/beam5-mean-on-dev", "test": f"{DATASET}/preferred/beam5-mean"}
_QUICK_SOURCES = ("MeSH 2024 descriptors", "MONDO")


def systems(kb: KnowledgeBase, *, is_quick: bool) -> Iterator[tuple[str, Linker]]:
    """Yield the linkers by name; a quick run uses no model."""
    yield "exact", ExactLinker(kb)
    if not is_quick:
        yield "tfidf", TfidfLinker(kb)
        yield "dense", dense_linker(kb)


def dense_linker(kb: KnowledgeBase) -> Linker:
    """Return a dense linker: off-the-shelf MiniLM over the names of all concepts in its stored rows."""
    from onym.methods.dense.index.build import index_in_memory
    from onym.methods.dense.linker import DenseLinker
    from onym.models.torch_encoder import Encoder

    store = Store(FOLDER / "dense")
    kept = [store.predictions(store.row(DENSE_ROWS[split])) for split in SPLITS]
    ids = {concept_id for each in kept for one in each for answer, _, _ in one.answers for concept_id in answer}
    encoder = Encoder.open(model_folder("minilm"), name="minilm")
    return DenseLinker(kb, encoder, index_in_memory(kb, encoder, np.flatnonzero(names_of(kb, concepts_with_ids(kb, ids)))))


def quick_kb() -> KnowledgeBase:
    """Return a knowledge base of MeSH descriptors and MONDO, built on first use and cached."""
    recipe = Recipe.from_toml(RECIPE)
    few = recipe.model_copy(update={"sources": tuple(each for each in recipe.sources if each.name in _QUICK_SOURCES)})
    folder = cache_folder() / "benchmarks" / "ties-quick-kb"
    if not (folder / "CURRENT").is_file():
        build_kb(few, folder, root=data_folder())
    return KnowledgeBase.open(folder)
