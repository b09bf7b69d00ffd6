"""Several corpora to learn from together: how they are named, and their documents, without any that is held out.

No model runs here: rerankers and classifiers are trained without torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field

from onym.config import Strict
from onym.datasets import PreparedDataset
from onym.datasets.prepared import open_dataset
from onym.datasets.training import TrainingCorpus, require_shippable, training_corpora
from onym.types import Document


class CorporaConfig(Strict):
    """What is learnt from: the train splits of `datasets`, without documents of a dev or test split of these or of `exclude`.

    With `private`, datasets may be named whose annotations may not be passed on: what is trained then is for your own use.
    """

    datasets: tuple[str, ...] = Field(min_length=1)
    exclude: tuple[str, ...] = Field(
        default=(), description="A dataset whose dev and test documents are not learnt from either."
    )
    private: bool = Field(
        default=False, description="Learn from annotations that may not be passed on; keep the result to yourself."
    )


class OfCorpora:
    """A part of a training context whose `config.data` names corpora; `data` has the files of datasets not yet prepared."""

    config: Any
    data: Path | None

    @cached_property
    def datasets(self) -> list[PreparedDataset]:
        """The datasets that are learnt from."""
        if not self.config.data.private:
            require_shippable(self.config.data.datasets)
        return [open_dataset(name, self.data) for name in self.config.data.datasets]

    @cached_property
    def training(self) -> list[TrainingCorpus]:
        """Their training documents, without any that is held out."""
        return training_corpora(self.datasets, [open_dataset(name, self.data) for name in self.config.data.exclude])


def renamed(documents: Iterable[Document], types: Mapping[str, str]) -> tuple[Document, ...]:
    """Return documents with types of mentions named anew; mentions of a type whose name is empty are left out.

    >>> from onym.types import Mention
    >>> doc = Document("1", "flu", (Mention(0, 3, "flu", ("a:1",), "SpecificDisease"), Mention(0, 3, "flu", (), "Other")))
    >>> [mention.type for mention in renamed([doc], {"SpecificDisease": "Disease", "Other": ""})[0].mentions]
    ['Disease']
    """
    found = []
    for doc in documents:
        named = (replace(mention, type=types.get(mention.type, mention.type)) for mention in doc.mentions)
        found.append(replace(doc, mentions=tuple(mention for mention in named if mention.type), relations=()))
    return tuple(found)
