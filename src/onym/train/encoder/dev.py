"""The evaluation of an encoder during training: the dense linker, its names embedded by the current model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.evaluate.cases import ConceptResolver, gold_cases
from onym.evaluate.metrics import score
from onym.index.build import index_in_memory
from onym.kb import KnowledgeBase
from onym.linkers.dense import DenseLinker
from onym.models.settings import EncoderSettings
from onym.models.tokens import Tokenizer
from onym.models.torch_encoder import Encoder
from onym.models.torch_loading import in_precision
from onym.outputs.predictions import Predictions, predictions_of
from onym.types import Document

_TOP = 10


class EncoderDev:
    """Links the same mentions each time: `dev_r1` and `dev_r5` are recall, any-id, in percent, as in `onym evaluate`.

    `names` are the ids of the names to search among; None is all. Among fewer names the right one is easier to find: such a
    score compares models, and is higher than that of `onym evaluate`.
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
        """Return the scores of a model, which is left unchanged."""
        encoder = Encoder(in_precision(model, "auto"), self._tokenizer, self._settings)
        linker = DenseLinker(self._kb, encoder, index_in_memory(self._kb, encoder, self._names))
        answers = Predictions.of(predictions_of(linker.link(self._documents, top_k=_TOP)), {}).answers
        found = score(gold_cases(self._documents, lambda key: answers[key], self._known), "any-id")
        return {f"dev_r{k}": 100 * found.recall[k] for k in (1, 5)}
