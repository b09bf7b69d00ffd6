"""From a short form to the long form that the document gives it, wherever in the document it stands."""

from __future__ import annotations

from collections.abc import Iterable

from onym.text.abbreviations._definition import Abbreviation
from onym.text.abbreviations._finder import find_abbreviations


class Abbreviations:
    """The abbreviations of one document.

    A mention keeps its own surface and offsets; the long form is something more that is known of it.

    >>> known = Abbreviations.from_text("Proton pump inhibitors (PPIs) reduce acid. A PPI is taken daily.")
    >>> known.expand("PPI")
    'Proton pump inhibitors'
    >>> known.expand("acid") is None
    True
    """

    def __init__(self, definitions: Iterable[Abbreviation]) -> None:
        self.definitions = tuple(definitions)
        self._exact: dict[str, Abbreviation] = {}
        self._folded: dict[str, Abbreviation] = {}
        self._forms: set[str] = set()  # in one case, with and without a plural `s`: other surfaces are no short forms
        for definition in self.definitions:  # where a text defines one twice, the first counts
            self._exact.setdefault(definition.short, definition)
            folded = definition.short.casefold()
            self._folded.setdefault(folded, definition)
            self._forms.update((folded, folded + "s", folded.removesuffix("s")))

    @classmethod
    def from_text(cls, text: str) -> Abbreviations:
        """Find the definitions of a document."""
        return cls(find_abbreviations(text))

    def expand(self, surface: str) -> str | None:
        """Return the long form of a surface, or None."""
        found = self.definition(surface)
        return found.long if found else None

    def definition(self, surface: str) -> Abbreviation | None:
        """Return where the document says what a surface is short for, or None.

        As written first, then with or without a plural `s`, then in another case; the last only for surfaces that do not
        look like an ordinary word: `ALL` is defined, `All` and `all` are not.
        """
        if surface.casefold() not in self._forms:  # most
            return None
        for form in (surface, surface.removesuffix("s"), surface + "s"):
            if form in self._exact:
                return self._exact[form]
        if _looks_short(surface):
            folded = surface.casefold()
            for form in (folded, folded.removesuffix("s"), folded + "s"):
                if form in self._folded:
                    return self._folded[form]
        return None


def _looks_short(surface: str) -> bool:
    return any(map(str.isdigit, surface)) or any(map(str.isupper, surface[1:]))
