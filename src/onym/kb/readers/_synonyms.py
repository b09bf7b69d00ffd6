"""What the two forms of OBO share: the type of a synonym may say more about it than its scope."""

from __future__ import annotations

from onym.types import NameKind

_ABBREVIATIONS = {"abbreviation", "acronym", "omo:0003000", "omo_0003000", "omo:0003012", "omo_0003012"}
_WITHDRAWN = {"obsolete_synonym", "deprecated", "exclude"}  # HPO's word, and MONDO's two
_NOT_NAMES = {"formula", "smiles", "inchi", "inchikey"}  # ChEBI lists these among the synonyms


def synonym_kind(scope: NameKind, type_name: str) -> NameKind | None:
    """Return the kind of a synonym, or None where it is no name at all.

    >>> synonym_kind(NameKind.EXACT, "http://purl.obolibrary.org/obo/mondo#ABBREVIATION").label
    'abbreviation'
    """
    last = type_name.rpartition("#")[2].rpartition("/")[2].lower()
    if last in _NOT_NAMES:
        return None
    if last in _WITHDRAWN:
        return NameKind.SUPPRESSED
    return NameKind.ABBREVIATION if last in _ABBREVIATIONS else scope
