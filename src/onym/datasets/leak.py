"""What dev and test share with train: the same place of the same document, or the same words for the same concepts."""

from __future__ import annotations

from dataclasses import dataclass, field

from onym.corpora.formats.biosyn import OFFSETS
from onym.datasets.genbioel import DOCUMENT
from onym.text.normal import normal_name
from onym.types import Document, Mention

Place = tuple[str, str]
Pair = tuple[str, frozenset[str]]


@dataclass
class Shared:
    """How many of a split's mentions stand in train too, by place and by (normalised surface, gold ids)."""

    mentions: int = 0
    by_place: int = 0
    by_pair: int = 0


@dataclass
class Leaks:
    """Takes the documents of train, then those of the other splits.

    >>> doc = Document("1", "fever", (Mention(0, 5, "fever", ("mesh:D005334",)),))
    >>> leaks = Leaks()
    >>> for split in ("train", "dev"):
    ...     leaks.take(split, doc)
    >>> leaks.shared["dev"]
    Shared(mentions=1, by_place=1, by_pair=1)
    """

    shared: dict[str, Shared] = field(default_factory=dict)
    _places: set[Place] = field(default_factory=set)
    _pairs: set[Pair] = field(default_factory=set)

    def take(self, split: str, document: Document) -> None:
        """Remember the mentions of train; compare those of another split with them."""
        for mention in document.mentions:
            place, pair = place_of(document, mention), pair_of(mention)
            if split == "train":
                self._places.add(place)
                self._pairs.add(pair)
            elif self._pairs:
                found = self.shared.setdefault(split, Shared())
                found.mentions += 1
                found.by_place += place in self._places
                found.by_pair += pair in self._pairs


def place_of(document: Document, mention: Mention) -> Place:
    """Return where a mention stands in the corpus that its document was made of.

    >>> made = Document("7.1", "fever", notes=(("document", "7"),))
    >>> place_of(made, Mention(0, 5, "fever", notes=(("offsets", "12|20"),)))
    ('7', '12|20')
    """
    offsets = dict(mention.notes).get(OFFSETS) or f"{mention.start}|{mention.end}"
    return dict(document.notes).get(DOCUMENT, document.id), offsets


def pair_of(mention: Mention) -> Pair:
    """Return what a system could have learnt by heart: the normalised surface and the gold ids."""
    return normal_name(mention.surface), frozenset(mention.concept_ids)
