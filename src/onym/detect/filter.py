"""Which names of a knowledge base are believed wherever they stand, which only as their sources write them, and which never.

`all`, `was` and `mi` are names: of a leukaemia, a gene and an infarction, which their sources write `ALL`, `WAS` and `MI`. The
knowledge base has all names in lower case, but keeps the forms as they were written: from them this is told, name by name. And
`disease` is a name, but thousands of other names end with it: alone it says too little. No list of words is needed for either.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from unicodedata import east_asian_width

from onym.kb import KnowledgeBase
from onym.kb.masks import ConceptMask
from onym.text.abbreviations import FUNCTION_WORDS

_REMEMBERED = 200_000  # names
_GENERAL = 100  # names that end with a word, at least, until it says too little
_ONE_IN = 400  # of all names


class Trust:
    """Tells whether a name is believed where it stands written so. With `only`, as a name of some concepts alone.

    Never believed are names of fewer than `shortest` characters, names without a letter, function words, and single words with
    which one in 400 names ends. Names of up to `as_written` letters and digits that all sources write as abbreviations are,
    with a capital or a digit after the first letter, are believed where they are written so.

    >>> trust = Trust(KnowledgeBase.open(getfixture("tiny_kb")), shortest=2)
    >>> mi, fever = trust.kb.find("mi"), trust.kb.find("fever")
    >>> [trust.believes(mi, "MI"), trust.believes(mi, "Mi"), trust.believes(fever, "FEVER")]
    [True, False, True]
    """

    def __init__(self, kb: KnowledgeBase, *, shortest: int = 3, as_written: int = 4, only: ConceptMask | None = None) -> None:
        self.kb = kb
        self._shortest, self._as_written, self._only = shortest, as_written, only
        self._demand = lru_cache(_REMEMBERED)(self._demanded)

    def believes(self, name: int, surface: str) -> bool:
        """Tell whether a place of the text, written as `surface`, is to be taken for the name."""
        demanded = self._demand(name)
        return demanded is None or _bare(surface) in demanded

    @cached_property
    def general(self) -> frozenset[str]:
        """The words with which so many names end that they say little by themselves."""
        import polars as pl

        least = max(_GENERAL, len(self.kb.names) // _ONE_IN)
        last = pl.Series("word", self.kb.names.to_arrow()).str.extract(r" ([^ ]+)$").drop_nulls()
        counts = last.value_counts(name="names").filter(pl.col("names") >= least)
        return frozenset(counts["word"].to_list())

    def _demanded(self, name: int) -> frozenset[str] | None:
        """Return how a name must be written, bare; None is in any way, and nothing is never."""
        text = self.kb.names[name]
        if _width(text) < self._shortest or not any(map(str.isalpha, text)) or text in self.general:
            return frozenset()
        forms = {_bare(form) for form in self._forms(name)} if len(_bare(text)) <= self._as_written else {""}
        if all(map(_is_short_form, forms)):
            return frozenset(forms)
        return frozenset() if text in FUNCTION_WORDS else None

    def _forms(self, name: int) -> list[str]:
        """Return a name as the sources write it."""
        kb, found = self.kb, []
        for concept in kb.name_concepts[name].tolist():
            if self._only is None or self._only[concept]:
                first = int(kb.concept_terms[concept])
                found += [kb.term_forms[first + row] for row in (kb.names_of(concept) == name).nonzero()[0].tolist()]
        return found


def _width(text: str) -> int:
    """Count characters; one of a script that has words of one or two, such as Chinese, counts twice."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def _bare(text: str) -> str:
    """Return the letters and digits of a text."""
    return "".join(filter(str.isalnum, text))


def _is_short_form(form: str) -> bool:
    return any(char.isupper() or char.isdigit() for char in form[1:])
