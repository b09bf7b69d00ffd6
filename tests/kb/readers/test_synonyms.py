"""Tests of deriving the kind of a name from the synonym type in the source."""

from __future__ import annotations

import pytest

from onym.kb.readers._shared import synonym_kind
from onym.types import NameKind


@pytest.mark.parametrize(
    ("type_name", "kind"),
    [
        ("", NameKind.BROAD),
        ("layperson", NameKind.BROAD),
        ("abbreviation", NameKind.ABBREVIATION),
        ("ABBREVIATION", NameKind.ABBREVIATION),
        ("OMO:0003012", NameKind.ABBREVIATION),
        ("http://purl.obolibrary.org/obo/OMO_0003000", NameKind.ABBREVIATION),
        ("http://purl.obolibrary.org/obo/mondo#DEPRECATED", NameKind.SUPPRESSED),
        ("http://purl.obolibrary.org/obo/mondo#EXCLUDE", NameKind.SUPPRESSED),
        ("obsolete_synonym", NameKind.SUPPRESSED),
        ("SMILES", None),
        ("InChIKey", None),
    ],
)
def test_kinds(type_name: str, kind: NameKind | None) -> None:
    assert synonym_kind(NameKind.BROAD, type_name) == kind
