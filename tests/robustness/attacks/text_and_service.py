"""Attacks with texts and requests. Each `attack_` function raises AssertionError if its attack works.

The attacks with texts use the starter, whose steps are a student detector, a dictionary, a classifier and a reranker.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

from onym.corrections.corrections import Corrections
from onym.corrections.rules import Rule
from onym.detect.base import Span, resolve_overlaps
from onym.detect.names import ReorderedNames
from onym.packs.locate import STARTER, load
from onym.pipeline.pipeline import Pipeline
from onym.rerank.features import find_support
from onym.text.abbreviations import find_abbreviations, plain_schwartz_hearst
from onym.types import Document, Mention
from tests.robustness.text.doubling import require_linear
from tests.robustness.text.pathological_text import Shape

_PROSE = "Patients with heart failure (HF) had fever and diabetes (T2D). HF was treated with aspirin, and T2D with metformin. "
_LENGTH = 6_000


@cache
def starter() -> Pipeline:
    """Return the starter with assertion marks."""
    return load(STARTER).with_assertion()


@cache
def corrected() -> Pipeline:
    """Return the starter with rules that add mentions, for every document and for an expansion."""
    rules = [
        Rule("treated", "no-concept", add=True),
        Rule("patients", "no-concept", add=True),
        Rule("HF", "mesh:D006333", expansion="heart failure", add=True),
    ]
    return starter().with_corrections(Corrections(rules, starter().kb))


@cache
def _names() -> Sequence[str]:
    names = starter().kb.names
    return [names[row] for row in random.Random(0).sample(range(len(names)), 20_000)]


def _over(unit: str) -> Shape:
    return lambda length: (unit * (length // len(unit) + 1))[:length]


def _numbered(length: int) -> str:
    """Return a text that defines a new short form in each unit."""
    return "".join(f"heart failure {number} (HF{number}) " for number in range(length // 20))[:length]


def _one_short_form(length: int) -> str:
    return ("heart failure (HF) " + "HF fever " * length)[:length]


def attack_definition_repeated() -> None:
    """Repeat one definition."""
    require_linear(starter().link, _over("heart failure (HF) "), _LENGTH)


def attack_prose_that_repeats_its_definitions() -> None:
    """Repeat prose with its definitions."""
    require_linear(starter().link, _over(_PROSE), _LENGTH)


def attack_definitions_of_many_short_forms() -> None:
    """Define a new short form in each phrase."""
    require_linear(starter().link, _numbered, _LENGTH)


def attack_short_form_a_thousand_times() -> None:
    """Define a short form once, and use it again and again."""
    require_linear(starter().link, _one_short_form, _LENGTH)


def attack_many_different_names() -> None:
    """List names of the knowledge base, each once: every concept of the document is looked up for every mention."""
    require_linear(starter().link, lambda length: ". ".join(_names())[:length], _LENGTH)


def attack_brackets() -> None:
    """Look for definitions in brackets of all kinds, by both algorithms."""
    for unit in ("(", "([{)]}", "(HF) ", "HF (heart failure) ", "(heart failure = HF) "):
        require_linear(find_abbreviations, _over(unit), 5_000, 20_000)
        require_linear(plain_schwartz_hearst, _over(unit), 5_000, 20_000)


def attack_rules_that_add_mentions() -> None:
    """Add mentions by rules to a text that repeats their surface, and a short form whose expansion a rule needs."""
    for unit in (_PROSE, "treated ", "patients\u2019 heart failure (HF) HF "):
        require_linear(corrected().link, _over(unit), _LENGTH)


def attack_given_mentions() -> None:
    """Link mentions that are given, and mark their assertions."""

    def link(text: str) -> None:
        spans = [(at, at + 5) for at in range(0, len(text) - 5, 7)]
        starter().link(Document("1", text, tuple(Mention(*span, text[slice(*span)]) for span in spans)))

    require_linear(link, _over("no fever but fever; "), _LENGTH)


def attack_explanations() -> None:
    """Explain each link and each rejected name of a text, and show them as a page."""
    for pipeline, shape in ((starter(), _over("heart failure (HF) ")), (corrected(), _over(_PROSE))):
        require_linear(lambda text, on=pipeline: on.explain(text)._repr_html_(), shape, 2_000)  # type: ignore[misc]


def attack_spans_of_mixed_lengths() -> None:
    """Resolve overlaps of long spans first, then of the short ones between them."""

    def resolve(text: str) -> None:
        count = 10 * len(text)
        long, short = ([Span(at, at + length) for at in range(0, 10 * count, 10)] for length in (5, 4))
        resolve_overlaps([*long, *(Span(span.start + 5, span.end + 5) for span in short)])

    require_linear(resolve, _over("a"), 10_000)


def attack_words_in_any_order() -> None:
    """Look for names in another order in a long text."""
    find = ReorderedNames(starter().kb).find
    require_linear(lambda text: list(find(text)), _over("fever cough "), 50_000, 1_600_000)


def attack_support_of_many_concepts() -> None:
    """Look for support of each mention among thousands of concepts."""

    def support(text: str) -> None:
        count = range(len(text))
        find_support([(0, f"name {row}", (row,), ()) for row in count], [{row: row} for row in count])

    require_linear(support, _over("a"), 1_000)


ATTACKS = [name for name in list(globals()) if name.startswith("attack_")]
