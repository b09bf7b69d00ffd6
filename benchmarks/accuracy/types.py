"""Measure the semantic groups of the open knowledge base: concepts without a group, and the effect of filtering by group.

    concepts_without_group_pct   percentage of concepts without a group
    gold_outside_mask_pct        percentage of gold mentions whose concept is outside the groups of the mention's type, among
                                 the mentions of three test sets whose id is in the KB
    homonyms_hidden              number of mentions, found by the dictionary in the three test sets, that exact match links to
                                 one concept with the filter and to another one without it

`--quick` leaves out the supplementary records, and counts homonyms in one corpus.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

import numpy as np

from benchmarks.accuracy.kb_open import make_joined_recipe
from benchmarks.report import data_folder
from benchmarks.results.tasks import open_kb_joined
from onym.datasets.prepared import open_dataset
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.ranking import ConceptMask, concepts_of_types
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.exact import ExactLinker
from onym.pipeline import Pipeline, PipelineOptions
from onym.types import Document, Mention

GROUPS = {"Disease": ("Disease", "Phenotype"), "Chemical": ("Chemical",)}
"""Semantic groups of each mention type."""
DATASETS = {"ncbi-disease": ("Disease",), "bc5cdr": ("Chemical", "Disease"), "biored": ("Chemical", "Disease")}
_ONLY_DISEASES = "ncbi-disease"  # all mention types of this corpus are diseases
UPPER_BOUNDS = MappingProxyType({"concepts_without_group_pct": 0.5, "gold_outside_mask_pct": 0.5, "homonyms_hidden": 0})


def run(options: argparse.Namespace) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        kb = _quick_kb(Path(folder)) if options.quick else open_kb_joined()
        gold, outside = gold_outside_masks(kb)
        names = list(DATASETS)[:1] if options.quick else list(DATASETS)
        links, hidden = map(sum, zip(*(homonyms(kb, name) for name in names), strict=True))
        return {
            "concepts": len(kb),
            "concepts_without_group_pct": percent(concepts_without_group(kb), len(kb)),
            "gold_in_kb": gold,
            "gold_outside_mask_pct": percent(outside, gold),
            "links_under_filter": links,
            "homonyms_hidden": hidden,
            "homonyms_hidden_pct": percent(hidden, links),
        }


def percent(part: int, whole: int) -> float:
    """Return a percentage to two decimals; one decimal would be too coarse for the bounds of 0.5 %."""
    return round(100 * part / max(1, whole), 2)


def concepts_without_group(kb: KnowledgeBase) -> int:
    """Count the concepts without a group."""
    return int((np.diff(kb.concept_groups.offsets.astype(np.int64)) == 0).sum())


def gold_outside_masks(kb: KnowledgeBase) -> tuple[int, int]:
    """Return how many gold mentions have an id in the KB, and how many of these are outside the groups of their type."""
    masks = {kind: concepts_of_types(kb, groups) for kind, groups in GROUPS.items()}
    gold = outside = 0
    for name in DATASETS:
        for kind, mention in gold_mentions(name):
            concepts = [concept for each in mention.concept_ids for concept in kb.concepts_with_id(each)]
            gold += bool(concepts)
            outside += bool(concepts) and not masks[kind][concepts].any()
    return gold, outside


def gold_mentions(name: str) -> Iterator[tuple[str, Mention]]:
    """Yield the disease and chemical mentions of a test set, with their type."""
    for doc in _documents(name):
        for mention in doc.mentions:
            kind = "Disease" if name == _ONLY_DISEASES else mention.type
            if kind in DATASETS[name]:
                yield kind, mention


def homonyms(kb: KnowledgeBase, name: str) -> tuple[int, int]:
    """Return how many mentions are linked with a corpus's filter, and how many of them get another concept without it."""
    only = concepts_of_types(kb, [group for kind in DATASETS[name] for group in GROUPS[kind]])
    found = [each.document for each in DictionaryDetector(kb, only=only).detect(_documents(name))]
    pairs = list(zip(_answers(kb, found, only), _answers(kb, found, None), strict=True))
    links = [(under, free) for under, free in pairs if under is not None]
    return len(links), sum(under != free for under, free in links)


def _answers(kb: KnowledgeBase, docs: list[Document], only: ConceptMask | None) -> Iterator[str | None]:
    options = PipelineOptions(top_k=1, assertion=False)
    for linked in Pipeline(ExactLinker(kb), options=options, only=only).link_many(docs):
        yield from (link.concept_id for link in linked.links)


def _documents(name: str) -> tuple[Document, ...]:
    return tuple(open_dataset(name, data_folder()).documents("test"))


def _quick_kb(folder: Path) -> KnowledgeBase:
    build_kb(make_joined_recipe(quick=True), folder / "kb", root=data_folder())
    return KnowledgeBase.open(folder / "kb")
