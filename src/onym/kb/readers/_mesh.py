"""What the three forms of MeSH share: the branch of the tree (`C04`, `D03`) stands as a semantic type."""

from __future__ import annotations

from collections.abc import Iterable

ABBREVIATION_TAGS = ("ABB", "ABX", "ACR", "ACX")  # lexical tags of a term: abbreviations and acronyms, embedded ones too


def branches(tree_numbers: Iterable[str]) -> list[str]:
    """Return the top branches of tree numbers.

    >>> branches(["C04.557.337", "C04.588", "C15.604"])
    ['C04', 'C15']
    """
    return sorted({number.strip()[:3] for number in tree_numbers if number.strip()})
