"""Attacks with texts that take more than linear time."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

from onym.methods.detector import Span, resolve_overlaps
from onym.methods.dictionary.names import ReorderedNames
from onym.methods.reranker.features import find_support
from tests.robustness.attacks.rows import Place, attack
from tests.robustness.text.doubling import require_linear
from tests.robustness.text.shapes import over
from tests.robustness.text.starter_texts import DEFINING, corrected, forgetful, numbered_definitions, starter

_LENGTH, _LONG = 6_000, 40_000


def _link(text: str) -> object:
    return forgetful(starter()).link(text)


@cache
def _names() -> Sequence[str]:
    names = starter().kb.names
    return [names[row] for row in random.Random(0).sample(range(len(names)), 20_000)]


@attack("repeat one definition")
def definition_repeated(_: Place) -> None:
    require_linear(_link, over("heart failure (HF) "), _LENGTH)


@attack("repeat prose with its definitions")
def prose_that_repeats_its_definitions(_: Place) -> None:
    require_linear(_link, over(DEFINING), _LONG)


@attack("define a new short form in each phrase")
def definitions_of_many_short_forms(_: Place) -> None:
    require_linear(_link, numbered_definitions, 2 * _LONG)


@attack("list names of the knowledge base, each once: every concept of the document is looked up for every mention")
def many_different_names(_: Place) -> None:
    require_linear(_link, lambda length: ". ".join(_names())[:length], _LONG)


@attack("add mentions by rules to a text that repeats their surface, and a short form whose expansion a rule needs")
def rules_that_add_mentions(_: Place) -> None:
    for unit in (DEFINING, "treated ", "patients\u2019 heart failure (HF) HF "):
        require_linear(lambda text: forgetful(corrected()).link(text), over(unit), _LENGTH)


@attack("explain each link and each rejected name of a text, and show them as a page")
def explanations(_: Place) -> None:
    for pipeline, shape in ((starter(), over("heart failure (HF) ")), (corrected(), over(DEFINING))):
        require_linear(lambda text, on=pipeline: forgetful(on).explain(text)._repr_html_(), shape, 2_000)  # type: ignore[misc]


@attack("resolve overlaps of long spans first, then of the short ones between them")
def spans_of_mixed_lengths(_: Place) -> None:

    def resolve(text: str) -> None:
        count = 10 * len(text)
        long, short = ([Span(at, at + length) for at in range(0, 10 * count, 10)] for length in (5, 4))
        resolve_overlaps([*long, *(Span(span.start + 5, span.end + 5) for span in short)])

    require_linear(resolve, over("a"), 10_000)


@attack("look for names in another order in a long text")
def words_in_any_order(_: Place) -> None:
    find = ReorderedNames(starter().kb).find
    require_linear(lambda text: list(find(text)), over("fever cough "), 50_000, 1_600_000)


@attack("look for support of each mention among thousands of concepts")
def support_of_many_concepts(_: Place) -> None:

    def support(text: str) -> None:
        count = range(len(text))
        find_support([(0, f"name {row}", (row,), ()) for row in count], [{row: row} for row in count])

    require_linear(support, over("a"), 1_000)
