"""Features of mentions in documents, computed once for all mentions that are written alike.

Nearly all features depend on a mention's surface, what it stands for, its type and its aliases alone. The document adds how
often the mention is repeated, and which of its other mentions may mean the same candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from onym.kb.ranking import ConceptMask
from onym.methods.reranker.features import NAMES, SUPPORT, FeatureMaker, Support, find_support
from onym.methods.reranker.pool import Pooling, Proposed, Unresolved
from onym.methods.trees.trees import Floats
from onym.recent import Recent
from onym.text.queries import Query

Proposing = Mapping[str, Callable[[Sequence[Query]], Sequence[Proposed]]]
"""The linkers that propose candidates, by name."""
_SUPPORT = tuple(map(NAMES.index, SUPPORT))
_REPEATED = NAMES.index("repeated")


class SurfaceKey(NamedTuple):
    """All that the context-free features of a mention depend on."""

    written: str
    surface: str
    query: str
    type: str
    aliases: tuple[str, ...]

    @classmethod
    def of(cls, mention: Unresolved) -> SurfaceKey:
        """Return the key of a mention."""
        return cls(mention.mention.surface, mention.surface, mention.query, mention.mention.type, mention.aliases)


@dataclass(frozen=True, slots=True)
class MentionFeatures:
    """A mention's candidates by row, their context-free features and best names; the concepts that names and memory give."""

    row_of: dict[int, int]
    matrix: Floats
    names: list[int]
    named: tuple[int, ...]
    recalled: tuple[int, ...]


class FeatureCache:
    """Computes the features of mentions without their document, and keeps recent ones."""

    def __init__(
        self,
        pooling: Pooling,
        features: FeatureMaker,
        proposing: Proposing,
        only: ConceptMask | None = None,
        *,
        size: int = 4_000,
    ) -> None:
        self._pooling, self._features, self._proposing, self._only = pooling, features, proposing, only
        self._recent: Recent[SurfaceKey, MentionFeatures] = Recent(size)

    def of(self, mentions: Sequence[Unresolved]) -> list[MentionFeatures]:
        """Return the features of each mention."""
        mention_of = {SurfaceKey.of(mention): mention for mention in reversed(mentions)}
        return self._recent.fill(
            list(map(SurfaceKey.of, mentions)), lambda new: self._compute([mention_of[key] for key in new])
        )

    def _compute(self, mentions: Sequence[Unresolved]) -> list[MentionFeatures]:
        """Compute features: each mention becomes a document of its own, with its aliases as further mentions."""
        rows: list[Unresolved] = []
        own: list[int] = []
        for number, mention in enumerate(mentions):
            own.append(len(rows))
            rows.append(mention._replace(doc=number, repeated=1))
            rows += [
                Unresolved(number, mention.source._replace(text=alias), mention.mention, alias, alias, (), 1)
                for alias in mention.aliases
            ]
        pool = self._pooling.merge(rows, self._propose_for([row.source for row in rows]), self._only, [None] * len(mentions))
        matrix, names = self._features.features(pool)
        matrix[:, _SUPPORT] = 0
        features = []
        for row in own:
            start, end = pool.offsets[row : row + 2].tolist()
            pooled, part = pool.mentions[row], matrix[start:end].copy()
            row_of = {concept: at for at, concept in enumerate(pool.concepts[start:end].tolist())}
            recalled = tuple(pooled.recalled_query)
            features.append(MentionFeatures(row_of, part, names[start:end].tolist(), pooled.named_query, recalled))
        return features

    def _propose_for(self, queries: Sequence[Query]) -> dict[str, list[Proposed]]:
        wanted = {query.text: query for query in reversed(queries) if self._pooling.needs_linkers(query.text)}
        found = {name: propose(list(wanted.values())) for name, propose in self._proposing.items()}
        by_text = {name: dict(zip(wanted, proposed, strict=True)) for name, proposed in found.items()}
        return {name: [proposed.get(query.text, {}) for query in queries] for name, proposed in by_text.items()}


def supports_of(mentions: Sequence[Unresolved], features: Sequence[MentionFeatures]) -> list[Support]:
    """Return for each mention what the other mentions of its document say of its candidates."""
    pairs = zip(mentions, features, strict=True)
    return find_support(
        [(mention.doc, mention.query, each.named, each.recalled) for mention, each in pairs], [each.row_of for each in features]
    )


def fill_matrix(features: MentionFeatures, repeated: int, support: Support) -> Floats:
    """Return the features of a mention in its document."""
    matrix = features.matrix.copy()
    matrix[:, _REPEATED] = repeated
    for row, *values in support:
        matrix[row, _SUPPORT] = values
    return matrix
