"""Input and output templates of seq2seq linkers, for training and inference: marked mention in context, prompt, and name.

GenBioEL and ANGEL: the encoder input is `left START mention END right`, lower-cased except for the markers; the decoder gets
the prompt `mention is` and generates a name. Every text is tokenised with a leading space. GENRE has no prompt.
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
"""GenBioEL's limit of the context, in words."""
_LETTERS = 16  # assumed maximum characters per token, for cutting a text before it is tokenised


class Tokens(Protocol):
    """The tokenizer interface that templates need."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text."""


@dataclass(frozen=True, slots=True)
class Template:
    """The layout of a seq2seq model's input, prompt and output.

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
        """Return the encoder input."""
        return " " + " ".join(part for part in self._parts(window) if part)

    def prompt_text(self, surface: str) -> str:
        """Return the decoder prompt; empty if the template has no prompt."""
        return f" {self.prompt.format(surface.lower())}" if self.prompt else ""

    def name_text(self, name: str) -> str:
        """Return a name in the form in which it is tokenised: lower-cased, with a leading space."""
        return f" {name.lower()}"

    def source_ids(self, text: str, start: int, end: int, tokens: Tokens, *, budget: int, words: int = WORDS) -> list[int]:
        """Return the encoder input ids of a mention in its text.

        The context is cut to `words` words, like GenBioEL, then to `budget` tokens including special tokens. The mention and
        its markers are never cut: if they alone exceed the budget, the context is empty.
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
        """Return the ids of the decoder prompt, which follows the start token."""
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
        raise ConfigError("template-unknown", f"unknown template {name!r}", fix=f"use one of {', '.join(TEMPLATES)}")
    return TEMPLATES[name]


def _plain(text: str) -> str:
    return html.unescape(text).lower()


def _ids(text: str, tokens: Tokens) -> Sequence[int]:
    return tokens.ids(f" {text}") if text else ()


def _end_of(text: str, room: int) -> str:
    """Return a suffix long enough for `room` tokens, cut at a space, so that discarded text is never tokenised."""
    if not room:
        return ""
    cut = len(text) - room * _LETTERS
    return text if cut <= 0 else text[max(cut, text.find(" ", cut) + 1) :]


def _start_of(text: str, room: int) -> str:
    if not room:
        return ""
    cut = room * _LETTERS
    return text if cut >= len(text) else text[: max(text.rfind(" ", 0, cut), 0) or cut]


_PROMPT = 256  # maximum prompt tokens; longer prompts lose their beginning
_SOURCE = 1024  # maximum encoder tokens; a longer mention loses its end


@dataclass(frozen=True, slots=True)
class InputLayout:
    """Builds model inputs. `window` is the number of tokens of a mention with its context, including special tokens.

    `max_tokens` is the maximum input length of the model. A mention that does not fit into `window` has no context; it is cut
    only if it is longer than `max_tokens` or 1,024 tokens.
    """

    template: Template
    tokens: Tokenizer
    window: int = 128
    max_tokens: int = _SOURCE

    def source(self, text: str, start: int, end: int) -> list[int]:
        """Return the encoder input ids of a mention in its text."""
        budget = min(self.window, self.max_tokens)
        limit = min(max(self.window, _SOURCE), self.max_tokens)
        return self.template.source_ids(text, start, end, self.tokens, budget=budget)[:limit]

    def prompt(self, surface: str) -> list[int]:
        """Return the ids of the decoder prompt."""
        limit = min(_PROMPT, self.max_tokens // 2)  # the other half of the decoder length is for the name
        return self.template.prompt_ids(surface, self.tokens)[-limit:]

    def name(self, name: str) -> list[int]:
        """Return the decoder target ids of a name, without the end token."""
        return self.tokens.ids(self.template.name_text(name))
