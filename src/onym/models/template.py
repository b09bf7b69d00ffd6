"""What a seq2seq linker reads and writes: a mention marked in its context, a prompt, and a name. For training and inference.

GenBioEL and ANGEL: the encoder reads `left START mention END right` in lower case, but for the markers; the decoder is given
`mention is` and writes a name. Every text is tokenised with a blank before it. GENRE writes the name without a prompt.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from onym.errors import ConfigError
from onym.text.window import Window, word_window

if TYPE_CHECKING:
    from onym.models.tokens import Tokenizer

WORDS = 384
"""GenBioEL's limit of context, in words."""
_LETTERS = 16  # of a token, at most, where a text is cut before it is tokenised


class Tokens(Protocol):
    """What a template needs of a tokenizer."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    def ids(self, text: str) -> list[int]:
        """Return the tokens of a text."""


@dataclass(frozen=True, slots=True)
class Template:
    """The layout of what a model reads and writes.

    >>> GENBIOEL.source_text(Window("He had a", "Heart Attack", "."))
    ' he had a START heart attack END .'
    >>> GENBIOEL.prompt_text("Heart Attack"), GENBIOEL.name_text("Myocardial Infarction")
    (' heart attack is', ' myocardial infarction')
    """

    name: str
    start: str
    end: str
    prompt: str

    def source_text(self, window: Window) -> str:
        """Return what the encoder reads."""
        return " " + " ".join(part for part in self._parts(window) if part)

    def prompt_text(self, surface: str) -> str:
        """Return what the decoder is given before the name; nothing, where the template has no prompt."""
        return f" {self.prompt.format(surface.lower())}" if self.prompt else ""

    def name_text(self, name: str) -> str:
        """Return a name as it is tokenised."""
        return f" {name.lower()}"

    def source_ids(self, text: str, start: int, end: int, tokens: Tokens, *, budget: int, words: int = WORDS) -> list[int]:
        """Return the tokens that the encoder reads of a mention in its text.

        The context is cut to `words` as GenBioEL does, then to `budget` tokens with the special ones. The mention and its
        markers are never cut: where they alone are more, they stand alone.
        """
        left, marked, right = self._parts(word_window(text, start, end, words))
        middle = tokens.ids(f" {marked}")
        room = max(0, budget - len(middle) - len(tokens.before) - len(tokens.after))
        before = _ids(_end_of(left, room), tokens)
        after = _ids(_start_of(right, room), tokens)
        take = min(len(before), max(room // 2, room - len(after)))
        kept = [*before[len(before) - take :], *middle, *after[: room - take]]
        return [*tokens.before, *kept, *tokens.after]

    def prompt_ids(self, surface: str, tokens: Tokens) -> list[int]:
        """Return the tokens that the decoder is given after its start token."""
        text = self.prompt_text(surface)
        return tokens.ids(text) if text else []

    def _parts(self, window: Window) -> tuple[str, str, str]:
        marked = f"{self.start} {_plain(window.surface)} {self.end}"
        return _plain(window.left).strip(" "), marked, _plain(window.right).strip(" ")


GENBIOEL = Template("genbioel", "START", "END", "{} is")
GENRE = Template("genre", "[START_ENT]", "[END_ENT]", "")
TEMPLATES = {template.name: template for template in (GENBIOEL, GENRE)}


def template_named(name: str) -> Template:
    """Return a template by its name.

    >>> template_named("genre").prompt
    ''
    """
    if name not in TEMPLATES:
        raise ConfigError("template-unknown", f"no template is named {name!r}", fix=f"the names are {', '.join(TEMPLATES)}")
    return TEMPLATES[name]


def _plain(text: str) -> str:
    return html.unescape(text).lower()


def _ids(text: str, tokens: Tokens) -> Sequence[int]:
    return tokens.ids(f" {text}") if text else ()


def _end_of(text: str, room: int) -> str:
    """Return the end of a text that surely holds so many tokens, cut at a blank: what is cut off is not tokenised in vain."""
    if not room:
        return ""
    cut = len(text) - room * _LETTERS
    return text if cut <= 0 else text[max(cut, text.find(" ", cut) + 1) :]


def _start_of(text: str, room: int) -> str:
    if not room:
        return ""
    cut = room * _LETTERS
    return text if cut >= len(text) else text[: max(text.rfind(" ", 0, cut), 0) or cut]


_PROMPT = 256  # tokens; of a longer mention the end is given to the decoder
_SOURCE = 1024  # tokens; of a mention that is longer by itself the beginning is read


@dataclass(frozen=True, slots=True)
class InputLayout:
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
