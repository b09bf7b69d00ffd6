"""Further training documents: short excerpts in which annotated mentions have other names of the knowledge base.

A detector of few annotated documents remembers words. From excerpts it learns that names are mentions which no document has,
and how to read a text of one sentence. Some are in lower case, as people write in forums.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random

import numpy as np
import numpy.typing as npt

from onym.kb import KnowledgeBase
from onym.text.boundaries import sentences
from onym.types import Document, Mention

_PLAIN = re.compile(r"[A-Za-z](?:[\w'-]| (?=[A-Za-z])){2,40}")
_MAX_WORDS, _MAX_SENTENCES = 4, 3
_SWAPPED, _LOWERED = 0.6, 0.15  # shares of mentions with another name, and of excerpts in lower case
_TRIES = 20


class SwappedNames:
    """Writes excerpts of documents with other names.

    `alike` has semantic groups that are annotated as another type, for example `Phenotype` as `Disease`.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> swapped = SwappedNames(kb)
    >>> doc = Document("1", "He had a flu. It went.", (Mention(9, 12, "flu", type="Disease"),))
    >>> [mention.surface for copy in swapped.excerpts([doc], 3) for mention in copy.mentions]
    ['flu', 'flu', 'flu']
    """

    def __init__(self, kb: KnowledgeBase, alike: Mapping[str, str] | None = None, seed: int = 0) -> None:
        self.kb, self._random = kb, Random(seed)  # noqa: S311
        self._concepts = {name: _concepts_of(kb, name, alike or {}) for name in kb.groups}

    def excerpts(self, documents: Sequence[Document], copies: int) -> Iterator[Document]:
        """Yield `copies` excerpts of each document that has mentions."""
        for copy in range(copies):
            for doc in documents:
                if doc.mentions:
                    yield self._excerpt(replace(doc, id=f"{doc.id}/{copy}"))

    def _excerpt(self, doc: Document) -> Document:
        start, end = self._choose_sentences(doc)
        parts, mentions, at, length = [], [], start, 0
        for mention in sorted(doc.mentions, key=lambda each: (each.start, -each.end)):
            if mention.start < at or mention.end > end:
                continue  # outside the excerpt, or inside the mention before
            name = self._name_for(mention) if self._random.random() < _SWAPPED else mention.surface
            before = doc.text[at : mention.start]
            parts += [before, name]
            length += len(before) + len(name)
            mentions.append(Mention(length - len(name), length, name, type=mention.type))
            at = mention.end
        text = "".join((*parts, doc.text[at:end]))
        if self._random.random() < _LOWERED and len(text.lower()) == len(text):
            text = text.lower()
            mentions = [replace(each, surface=text[each.start : each.end]) for each in mentions]
        return Document(doc.id, text, tuple(mentions))

    def _choose_sentences(self, doc: Document) -> tuple[int, int]:
        """Return the offsets of a few sentences around a mention."""
        found = sentences(doc.text)
        wanted = self._random.choice(doc.mentions)
        first = next((number for number, (_, end) in enumerate(found) if wanted.start < end), 0)
        last = min(first + self._random.randrange(_MAX_SENTENCES), len(found) - 1)
        return found[first][0], max(found[last][1], wanted.end)

    def _name_for(self, mention: Mention) -> str:
        """Return another name of the mention's type, in lower case if the mention is; the same if there is no plain one."""
        concepts = self._concepts.get(mention.type, ())
        for _ in range(_TRIES if len(concepts) else 0):
            concept = self._random.choice(concepts)
            start, end = (int(each) for each in self.kb.concept_terms[concept : concept + 2])
            form = self.kb.term_forms[self._random.randrange(start, end)] if end > start else ""
            if _PLAIN.fullmatch(form) and form.count(" ") < _MAX_WORDS:
                return form.lower() if mention.surface.islower() else form
        return mention.surface


def _concepts_of(kb: KnowledgeBase, type_: str, alike: Mapping[str, str]) -> list[int]:
    """Return the rows of the concepts that are annotated as a type."""
    groups = [row for row, name in enumerate(kb.groups) if alike.get(name, name) == type_]
    lengths: npt.NDArray[np.int64] = np.diff(kb.concept_groups.offsets).astype(np.int64)
    owners = np.repeat(np.arange(len(kb)), lengths)
    found: list[int] = np.unique(owners[np.isin(kb.concept_groups.values, groups)]).tolist()
    return found
