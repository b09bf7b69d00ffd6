"""The tokens that a seq2seq linker reads and writes: one template, one tokenizer, one window. For training and inference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onym.text.template import Template
    from onym.text.tokens import Tokenizer

_PROMPT = 256  # tokens; of a longer mention the end is given to the decoder
_SOURCE = 1024  # tokens; of a mention that is longer by itself the beginning is read


@dataclass(frozen=True, slots=True)
class Layout:
    """What is put before a model. `window` is how many tokens it reads of a mention and its context, special ones included.

    `longest` is how many tokens the model can read at all: a mention is not cut, except where it must be.
    """

    template: Template
    tokens: Tokenizer
    window: int = 128
    max_tokens: int = _SOURCE

    def source(self, text: str, start: int, end: int) -> list[int]:
        """Return what the encoder reads of a mention in its text."""
        budget = min(self.window, self.max_tokens)
        limit = min(max(self.window, _SOURCE), self.max_tokens)
        return self.template.source_ids(text, start, end, self.tokens, budget=budget)[:limit]

    def prompt(self, surface: str) -> list[int]:
        """Return what the decoder is given before the name."""
        limit = min(_PROMPT, self.max_tokens // 2)  # half of what it can read is left for the name
        return self.template.prompt_ids(surface, self.tokens)[-limit:]

    def name(self, name: str) -> list[int]:
        """Return what the decoder writes for a name, without the end."""
        return self.tokens.ids(self.template.name_text(name))
