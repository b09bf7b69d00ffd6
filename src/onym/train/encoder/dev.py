"""The score that the training of an encoder is watched by: the real linker, its names encoded anew with the model as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.encoders.encoder import Encoder
from onym.encoders.loading import in_precision
from onym.encoders.settings import EncoderSettings
from onym.evaluate.cases import ConceptResolver, gold_cases
from onym.evaluate.metrics import score
from onym.index.memory import index_in_memory
from onym.kb import KnowledgeBase
from onym.kb.masks import names_of
from onym.linkers.dense import DenseLinker
from onym.predictions.file import Predictions, predictions_of
from onym.text.tokens import Tokenizer
from onym.train.generative.dev import every_nth
from onym.train.samples.mistakes import gold_of
from onym.train.samples.order import Shuffled
from onym.types import Document

_TOP = 10
_SEED = 0  # of the names that are drawn: the same ones in every training


class EncoderDev:
    """Links the same mentions each time: `dev_r1` and `dev_r5` are recall by any id, in percent, as `onym evaluate` counts it.

    `names` are the ids of the names that are looked among; without them it is all. Among fewer names the right one is easier to
    find: such a score is for comparing models, not for telling how good one is.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        kb: KnowledgeBase,
        tokenizer: Tokenizer,
        settings: EncoderSettings,
        names: npt.NDArray[np.int64] | None = None,
    ) -> None:
        self._documents, self._kb, self._known = documents, kb, ConceptResolver(kb)
        self._tokenizer, self._settings, self._names = tokenizer, settings, names

    def __len__(self) -> int:
        return sum(len(doc.mentions) for doc in self._documents)

    def __call__(self, model: Any) -> dict[str, float]:
        """Return the scores of a model, which is left as it was."""
        encoder = Encoder(in_precision(model, "auto"), self._tokenizer, self._settings)
        linker = DenseLinker(self._kb, encoder, index_in_memory(self._kb, encoder, self._names))
        answers = Predictions.of(predictions_of(linker.link(self._documents, top_k=_TOP)), {}).answers
        found = score(gold_cases(self._documents, lambda key: answers[key], self._known), "any-id")
        return {f"dev_r{k}": 100 * found.recall[k] for k in (1, 5)}


def asked_of(documents: Iterable[Document], count: int) -> list[Document]:
    """Return documents with `count` of their mentions that have an id, evenly spread; 0 is all.

    >>> from onym.types import Mention
    >>> doc = Document("1", "fever, cough", (Mention(0, 5, "fever", ("a:1",)), Mention(7, 12, "cough", ("a:2",))))
    >>> [mention.surface for doc in asked_of([doc, doc], 2) for mention in doc.mentions]
    ['fever', 'fever']
    """
    places = [(doc, mention) for doc in documents for mention in doc.mentions if mention.concept_ids]
    groups = groupby(every_nth(places, count), key=lambda place: id(place[0]))
    taken = [list(group) for _, group in groups]
    return [replace(group[0][0], mentions=tuple(mention for _, mention in group)) for group in taken]


def names_among(documents: Sequence[Document], kb: KnowledgeBase, others: int) -> npt.NDArray[np.int64] | None:
    """Return the ids of all names of the concepts that mentions mean, and of `others` drawn at random; None is all names.

    >>> from onym.types import Mention
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> doc = Document("1", "fever", (Mention(0, 5, "fever", ("mesh:D005334",)),))
    >>> len(kb.names), len(names_among([doc], kb, 2)), names_among([doc], kb, 0)
    (9, 5, None)
    """
    meant = np.zeros(len(kb), dtype=bool)
    meant[list({concept for doc in documents for mention in doc.mentions for concept in gold_of(mention, kb)})] = True
    is_named = names_of(kb, meant)
    if not others or int(is_named.sum()) + others >= len(kb.names):
        return None
    drawn = Shuffled(len(kb.names), _SEED).at(np.arange(len(kb.names)))
    is_named[drawn[~is_named[drawn]][:others]] = True
    return np.flatnonzero(is_named)
