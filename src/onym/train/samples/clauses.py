"""Clauses that say what a concept is, in the words of GenBioEL's Table 10: a mention, and a context for it.

The table ends each with a full stop outside of the template's words; as in the paper's examples (section 2.2) there is none.
"""

from __future__ import annotations

from dataclasses import dataclass

_MENTION, _CONTEXT = "{mention}", "{context}"

DEFINED = (
    "{mention} is defined as {context}",
    "{mention} is described as {context}",
    "{context} are the definitions of {mention}",
    "{context} describe {mention}",
    "{context} define {mention}",
)
"""For a concept with a definition."""
SYNONYMS = (
    "{context} are the synonyms of {mention}",
    "{context} indicate the same concept as {mention}",
    "{mention} has synonyms such as {context}",
    "{mention} refers to the same concepts as {context}",
)
"""For a concept without one, but with several names."""
SINGLE = (
    "{context} is {mention}",
    "{context} is the same as {mention}",
    "{mention} is {context}",
    "{mention} is the same as {context}",
)
"""For a concept with one name and no definition."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A text, and where in it the mention stands."""

    text: str
    start: int
    end: int


def clause_of(template: str, mention: str, context: str) -> Clause:
    """Put a mention and its context into a template.

    >>> clause_of(DEFINED[3], "fever", "A rise in temperature.")
    Clause(text='A rise in temperature. describe fever', start=32, end=37)
    """
    left, right = (part.replace(_CONTEXT, context) for part in template.split(_MENTION))
    return Clause(f"{left}{mention}{right}", len(left), len(left) + len(mention))


def templates_for(definitions: int, names: int) -> tuple[str, ...]:
    """Return the templates for a concept with so many definitions and names.

    >>> templates_for(0, 1) == SINGLE
    True
    """
    if definitions:
        return DEFINED
    return SYNONYMS if names > 1 else SINGLE
