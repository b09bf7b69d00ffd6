"""Check `onym explain`, and links restricted to types."""

from __future__ import annotations

import json

import numpy as np

from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask
from onym.methods.base import Rank
from onym.methods.exact import ExactLinker
from onym.packs import load
from onym.pipeline import Pipeline
from onym.types import Document, Mention
from tests.robustness.stumbles.rows import Scene, stumble


@stumble('onym explain "He had a syndrome and leukemia."')
def explain_gives_a_reason_for_each_name_that_is_not_a_mention(scene: Scene) -> str:
    done = scene.onym("explain", "He had a syndrome and leukemia.", "--json")
    rows = {row["text"]: row.get("rejected") for row in map(json.loads, done.stdout.splitlines())}
    assert rows == {"leukemia": None, "syndrome": "too-general"}, rows
    shown = scene.onym("explain", "He had a syndrome and leukemia.").stdout
    assert "not a mention: the word alone is too general" in shown, shown
    return f"syndrome: {rows['syndrome']}"


@stumble('onym explain "fever"')
def explain_says_that_a_text_has_no_name(scene: Scene) -> str:
    (line,) = scene.onym("explain", "fever").stdout.splitlines()
    assert line.endswith("no name of the knowledge base occurs in this text"), line
    return line


@stumble("onym link note.txt --types ...")
def a_type_filter_links_a_mention_again_only_where_candidates_differ(scene: Scene) -> str:
    pipeline = load("starter")
    calls: list[bool] = []
    linker = CountingLinker(pipeline.kb, calls)
    only = np.zeros(len(pipeline.kb), dtype=bool)
    doc = Document("1", "asthma", (Mention(0, 6, "asthma"),))
    filtered = Pipeline(linker, only=only)
    assert filtered.link(doc).links[0].concept_id is None
    assert filtered.link(Document("2", "asthmatic weather", (Mention(10, 17, "weather"),))).links[0].concept_id is None
    assert calls == [False, True], calls
    return "only the mention whose best concept is left out is ranked again"


class CountingLinker(ExactLinker):
    """An exact-match linker that records for each ranking of queries whether a filter is given."""

    def __init__(self, kb: KnowledgeBase, calls: list[bool]) -> None:
        super().__init__(kb)
        self._calls = calls

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        """Record the call, and rank."""
        self._calls.append(allowed is not None)
        return super().ranking(top_k, allowed)
