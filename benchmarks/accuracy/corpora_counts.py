"""Count the mentions of the prepared corpora, their train/test overlap, and the exact-match baseline on NCBI disease.

The baseline is BioSyn's rule: a mention is a hit if it equals a name in the dictionary and shares an id with that entry. One
test row (PMID 9703418) has a space before its id, so it is not a hit in the published figure; `by_concept` ignores the space.
"""

from __future__ import annotations

import argparse

from benchmarks.report import iter_prepared
from onym.corpora.ids import KEY
from onym.datasets import PreparedDataset
from onym.datasets.report import KbCoverage
from onym.kb import KnowledgeBase
from onym.types import Mention

PREPARED = {"ncbi_genbioel": "ncbi-disease-genbioel", "bc5cdr": "bc5cdr"}


def run(_options: argparse.Namespace) -> dict[str, object]:
    figures: dict[str, object] = {}
    for key, prepared in iter_prepared(PREPARED):
        figures |= sizes(key, prepared)
        if prepared.kb_folder:
            figures |= floor(prepared, KnowledgeBase.open(prepared.kb_folder))
    return figures


def sizes(key: str, prepared: PreparedDataset) -> dict[str, object]:
    """Count the mentions of the prepared dataset, and read the overlap with train from its report."""
    figures: dict[str, object] = {
        f"{key}_{split}": sum(len(doc.mentions) for doc in prepared.documents(split)) for split in prepared.splits
    }
    for split in ("dev", "test"):
        figures[f"{key}_{split}_in_train_same_span"] = prepared.report["overlap"][f"{split} in train"]["same_span"]
    return figures


def floor(prepared: PreparedDataset, kb: KnowledgeBase) -> dict[str, object]:
    mentions = [mention for doc in prepared.documents("test") for mention in doc.mentions]
    coverage = KbCoverage(kb)
    return {
        "ncbi_exact_any_id_hits": sum(is_written_so(kb, mention) for mention in mentions),
        "ncbi_exact_any_id_hits_by_concept": sum(map(coverage.is_kb_name, mentions)),
        "ncbi_exact_any_id_of": len(mentions),
    }


def is_written_so(kb: KnowledgeBase, mention: Mention) -> bool:
    """Return whether a concept with the mention's name has one of the gold ids, compared as written in the corpus file."""
    bare = "|".join(concept_id.partition(":")[2] for concept_id in mention.concept_ids)
    written = dict(mention.notes).get(KEY, bare).replace("+", "|").split("|")
    concepts = [kb.concept(row) for row in kb.concepts_named(mention.surface)]
    ids = [concept_id for concept in concepts for concept_id in (concept.id, *concept.alternative_ids)]
    return any(concept_id.partition(":")[2] in written for concept_id in ids)
