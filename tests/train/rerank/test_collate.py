"""What trees learn from."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from onym.evaluate.cases import ConceptResolver
from onym.kb import KnowledgeBase
from onym.rerank.features import NAMES
from onym.train.rerank.collate import pairs_of, right_concepts
from onym.train.rerank.context import RerankContext
from onym.types import Mention
from tests.train.rerank.made import config

HEART, FEVER = "mesh:D009203", "mesh:D005334"


def test_a_training_document_does_not_remember_itself(corpus: Path, kb_folder: Path) -> None:
    context = RerankContext(config(corpus, kb_folder))
    (found,) = context.corpora
    trained = pairs_of(context, found.documents, is_training=True)
    plain = pairs_of(context, found.documents, is_training=False)
    column = NAMES.index("recalled")
    assert trained.matrix[:, column].max() == 0  # each surface stands in one document alone
    assert plain.matrix[:, column].max() == 1
    assert (
        trained.matrix[trained.is_right, NAMES.index("concept_count")].max()
        < plain.matrix[:, NAMES.index("concept_count")].max()
    )


def test_each_mention_has_a_row_and_no_two_right_candidates(corpus: Path, kb_folder: Path) -> None:
    context = RerankContext(config(corpus, kb_folder))
    (found,) = context.corpora
    pairs = pairs_of(context, found.documents, is_training=True)
    assert len(pairs.is_in_kb) == len(pairs.types) == 12
    assert np.bincount(pairs.owners, pairs.is_right).max() == 1
    assert set(pairs.types.tolist()) == {"Disease"}


def test_a_composite_has_no_one_right_concept(tiny_kb: Path) -> None:
    resolver = ConceptResolver(KnowledgeBase.open(tiny_kb))
    assert right_concepts(Mention(0, 2, "MI", (HEART,)), resolver) == {HEART}
    assert right_concepts(Mention(0, 2, "MI", (HEART, "omim:608446")), resolver) == {HEART}
    assert right_concepts(Mention(0, 2, "MI", (HEART, FEVER)), resolver) == frozenset()
    assert right_concepts(Mention(0, 2, "MI", ("mesh:D999999",)), resolver) == frozenset()
