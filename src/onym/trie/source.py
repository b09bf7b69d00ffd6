"""What a trie is made of besides a knowledge base: a tokenizer and a template, as little of them as is needed here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from onym.store.artefact.arrays import Ragged


class TokenSource(Protocol):
    """A tokenizer: the same digest means the same tokens of the same texts."""

    digest: str
    vocabulary: int
    eos: int

    def ids_of(self, texts: Sequence[str]) -> Ragged:
        """Return the tokens of many texts, without special ones."""


class NameTemplate(Protocol):
    """A template: the same name means the same text of the same name."""

    @property
    def name(self) -> str:
        """What the template is called."""

    def name_text(self, name: str) -> str:
        """Return a name of the knowledge base as it is tokenised."""
