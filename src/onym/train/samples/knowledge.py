"""Samples of a knowledge base alone, for KB-guided pre-training: GenBioEL, section 2.2."""

from __future__ import annotations

from collections.abc import Sequence

from onym.kb import KnowledgeBase
from onym.text.layout import Layout
from onym.train.samples.base import Sample
from onym.train.samples.statements import Mentioned, Statement, Statements


class KnowledgeSamples:
    """`count` samples of a knowledge base: every name of every concept is written once in an epoch, in an order by `seed`."""

    def __init__(self, kb: KnowledgeBase, layout: Layout, count: int, seed: int = 0, *, mention: Mentioned = "random") -> None:
        self.statements = Statements(kb, seed, mention=mention)
        self._kb, self._layout, self._count = kb, layout, count

    @property
    def epoch(self) -> int:
        """How many samples there are before the first target comes again."""
        return self.statements.epoch

    def __len__(self) -> int:
        return self._count

    def __getitems__(self, places: Sequence[int]) -> list[Sample]:
        return [self._sample(statement) for statement in self.statements.at(places)]

    def _sample(self, statement: Statement) -> Sample:
        names, clause, layout = self._kb.names, statement.clause, self._layout
        source = layout.source(clause.text, clause.start, clause.end)
        return Sample(source, layout.prompt(names[statement.mention]), layout.name(names[statement.target]))
