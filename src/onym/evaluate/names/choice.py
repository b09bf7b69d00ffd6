"""Which concepts a picture shows, and which of their names.

The choice uses the knowledge base alone: an encoder must not choose the names by which it is compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.masks import ConceptMask
from onym.text.similarity import NameSimilarity

MIN_NAMES = 5
"""How many names a concept needs to be sampled."""
MAX_CONCEPTS = 40
MAX_NAMES = 20
"""How many names of one concept are shown."""
_FAMILY = 4  # concepts that are sampled together: one at random, and the most similar ones
_POOL = 4_000  # concepts that are compared with each other


@dataclass(frozen=True, slots=True)
class NameChoice:
    """The names to show. `owners` gives for each of `names` the index of its concept in `concepts`.

    `labels` are the preferred names of the concepts. `shared` counts the names that were left out because several of these
    concepts have them, and `over` those of concepts with too many.
    """

    concepts: tuple[int, ...]
    labels: tuple[str, ...]
    names: tuple[str, ...]
    owners: npt.NDArray[np.int64]
    shared: int = 0
    over: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """How much is shown, and how much was left out."""
        shown = {"concepts": len(self.concepts), "names": len(self.names)}
        return {**shown, "names_of_several_concepts": self.shared, "names_over_the_limit": self.over}


def sampled_concepts(kb: KnowledgeBase, count: int, *, seed: int = 0, only: ConceptMask | None = None) -> list[int]:
    """Sample concepts with at least `MIN_NAMES` names, in families: some at random, each with the most similar concepts.

    Any encoder separates concepts that have nothing in common. Where there are fewer than `count`, all are taken.
    """
    kb.require_intact()
    numbers = np.diff(kb.concept_terms.astype(np.int64))
    is_rich = numbers >= MIN_NAMES if only is None else (numbers >= MIN_NAMES) & only
    rich = np.flatnonzero(is_rich)
    if len(rich) < 2:
        what = f"{len(rich):,} of the concepts that may be sampled have at least {MIN_NAMES} names"
        raise ConfigError("names-too-few", what, where=str(kb.folder), fix="name concepts in a file, with --concepts")
    pool = np.random.default_rng(seed).permutation(rich)[:_POOL].tolist()
    texts = [" ".join(kb.names[int(name)] for name in kb.names_of(concept)) for concept in pool]
    return [pool[row] for row in _families(texts, min(count, len(pool)))]


def _families(texts: list[str], count: int) -> list[int]:
    """Return the rows of `count` texts: the first with its most similar ones, then the next remaining one with its own."""
    similarity = NameSimilarity(texts)
    taken: dict[int, None] = {}
    for row, text in enumerate(texts):
        if len(taken) >= count:
            break
        if row not in taken:
            near = similarity.top([text], count + _FAMILY)[0][0].tolist()
            family = [row, *(other for other in near if other != row and other not in taken)]
            taken |= dict.fromkeys(family[:_FAMILY])
    return list(taken)[:count]


def choose_names(kb: KnowledgeBase, concepts: Iterable[int], *, seed: int = 0) -> NameChoice:
    """Return the names of these concepts; a name that several of them have is of none, and is left out.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> choice = choose_names(kb, range(3))
    >>> choice.labels, choice.shared
    (('Fever', 'Hypertension', 'Myocardial Infarction'), 1)
    >>> choice.names[:3], choice.owners.tolist()
    (('fever', 'pyrexia', 'hyperthermia'), [0, 0, 0, 1, 1, 2, 2, 2])
    """
    concepts = tuple(concepts)
    if len(concepts) > MAX_CONCEPTS:
        what = f"{len(concepts):,} concepts are too many for one picture, which holds {MAX_CONCEPTS}"
        raise ConfigError("config-invalid", what, fix="name fewer")
    of_each = [list(dict.fromkeys(kb.names_of(concept).tolist())) for concept in concepts]
    is_of = np.bincount(np.array([name for names in of_each for name in names], dtype=np.int64), minlength=1)
    random = np.random.default_rng(seed)
    own = [[name for name in names if is_of[name] == 1] for names in of_each]
    shown = [_some(names, random) for names in own]
    owners = np.repeat(np.arange(len(concepts)), [len(names) for names in shown])
    if len(owners) < MIN_NAMES or len(np.unique(owners)) < 2:
        what = f"there are {len(owners):,} names of {len(np.unique(owners)):,} concepts to show, too few for a picture"
        raise ConfigError("names-too-few", what, where=str(kb.folder), fix="name more concepts, or concepts with more names")
    return NameChoice(
        concepts=concepts,
        labels=tuple(kb.preferred_form(concept) for concept in concepts),
        names=tuple(kb.names[name] for names in shown for name in names),
        owners=owners,
        shared=int((is_of > 1).sum()),
        over=sum(map(len, own)) - len(owners),
    )


def _some(names: list[int], random: np.random.Generator) -> list[int]:
    """Return the first name and a random sample of the others, in order, where there are too many."""
    if len(names) <= MAX_NAMES:
        return names
    rest = random.choice(len(names) - 1, MAX_NAMES - 1, replace=False) + 1
    return [names[0], *(names[row] for row in sorted(rest.tolist()))]
