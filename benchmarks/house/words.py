"""The words that Onym does not use: private coinages for which the field has a word that readers know."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

# Instead of them: row, rank, path, offset; derived; expand; score_candidates; windows; negatives; queries; context; describe;
# preserved; open; choose; filter; dim; max_*; eval_steps; max_grad_norm; min_length; cache_size; similarity ...
WORDS = frozenset(
    (
        *("place", "places", "beside", "given", "sight", "sights", "rival", "rivals", "asked", "surroundings", "setting"),
        *("told", "tell", "held", "opened", "chosen", "trust", "wide", "longest", "shortest", "most", "every", "clip"),
        *("remembered", "sure", "claims", "likeness"),
    )
)
PAIRS = frozenset((("written", "out"), ("as", "written")))
USUAL = frozenset((("held", "out"),))  # pairs that the field says: held-out data
DATASET_WORDS = frozenset(("benchmark", "benchmarks"))  # in the product: there a corpus with splits is a dataset

# A name that means one thing has one definition.
UNIQUE = ("Span", "Progress", "Answer", "Stage", "Known", "Place")

# What another library's protocol asks for: a file object has `tell`, a sampler of random text uses `clip`.
FOREIGN = frozenset(("tell",))

# Phrases of prose, each a pattern in which a space stands for any white space.
PHRASES = (
    r"from what a(?: biomedical)? text says",
    r"by equal names",
    r"\blikeness(?:es)?\b",
    r"\bwritten[ -]out\b",
    r"\bwrit(?:es?|ing) (?:\w+ ){0,3}out\b",
    r"among those of the knowledge base and no others",
    r"lets? it write the name",
    r"\blost: text\b",
    r"either a knowledge base or a pipeline links",
    r"below it are none",
    r"may lie (?:inside|in) each other",
    r"\bone (?:\w+ )?a line\b",
    r"whose ids stand in",
    r"\b(?:within|out of|in) reach\b",
    r"learns? from its own (?:wrong answers|mistakes)",
    r"\bstopped,? (?:\w+ ){0,4}goes on\b",
    r"\bgoes on where (?:it|they)\b",
    r"\btells? what leaks\b",
    r"\bas (?:it|they) comes?\b",
    r"for what may be lost",
    r"must not be believed",
    r"artefact-torn",
    r"in one published step",
    r"how far [\w@`]+(?: @ ?1)? may be off",
    r"(?:documents|mentions) are drawn again",
    r"where it is good, and where not",
    r"\bplaces? of (?:the )?gold\b",
    r"\b(?:is|are|was|were|be|if|not|being|so) sure\b",
    r"\bsure (?:of|enough|answers?)\b",
    r"\blike mentions\b",
)


def denied_words(name: str, *, dataset_words: bool = False) -> Iterator[str]:
    """Yield the denied words of an identifier, an option, a key or a file name.

    >>> list(denied_words("first_place")), list(denied_words("placeholder")), list(denied_words("WrittenOut"))
    (['place'], [], ['written_out'])
    >>> list(denied_words("held_out")), list(denied_words("held_back"))
    ([], ['held'])
    """
    if name in FOREIGN:
        return
    words = split(name)
    denied = WORDS | DATASET_WORDS if dataset_words else WORDS
    followed = zip(words, [*words[1:], ""], strict=False)
    yield from (word for word, after in followed if word in denied and (word, after) not in USUAL)
    yield from ("_".join(pair) for pair in pairwise(words) if pair in PAIRS)


def split(name: str) -> list[str]:
    """Return the words of a name in lower case: what stands between underscores, hyphens, dots and changes of case.

    >>> split("max_span-tokens.KBReader2")
    ['max', 'span', 'tokens', 'kb', 'reader', '2']
    """
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def denied_phrases(text: str) -> Iterator[tuple[int, str]]:
    """Yield where in a text a denied phrase begins, with the phrase.

    >>> list(denied_phrases("ranked by  likeness"))
    [(11, 'likeness')]
    """
    for match in _phrases().finditer(text):
        yield match.start(), " ".join(match.group().split())


@cache
def _phrases() -> re.Pattern[str]:
    return re.compile("|".join(phrase.replace(" ", r"\s+") for phrase in PHRASES), re.IGNORECASE)
