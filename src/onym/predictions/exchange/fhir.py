"""Values of FHIR: strings, codes and decimals that its rules allow, extensions, and the CodeableConcept of a link.

FHIR's JSON is the same for these in R4, R4B and R5.
"""

from __future__ import annotations

import math
import re
from typing import Any

from onym.predictions.exchange.vocabularies import Vocabularies
from onym.types import Candidate, Link

Resource = dict[str, Any]
"""A resource or an element of one, as JSON has it."""
BASE = "urn:onym:fhir"
"""What the addresses of Onym's own extensions begin with."""
_DIGITS = 6
_NO_STRING = re.compile(r"[^\S \t\n\r]|[\x00-\x08\x0e-\x1f]")  # control characters, and white space that is none to FHIR
_NAMED = Vocabularies()


def string_of(text: str) -> str | None:
    r"""Return a text as FHIR allows it: control characters and unusual white space are spaces; None for one that says nothing.

    >>> string_of("heart\x01attack"), string_of(" ")
    ('heart attack', None)
    """
    found = _NO_STRING.sub(" ", text)
    return found if found.strip() else None


def code_string(text: str) -> str | None:
    r"""Return a text as a FHIR code: white space is single spaces, and none at the ends; None for one that says nothing.

    >>> code_string(" heart \t attack ")
    'heart attack'
    """
    return " ".join(_NO_STRING.sub(" ", text).split()) or None


def extension(name: str, kind: str, value: Any) -> list[Resource]:
    """Return an extension of Onym's own; none where there is no value, or one that FHIR cannot store.

    >>> extension("start", "UnsignedInt", 7)
    [{'url': 'start', 'valueUnsignedInt': 7}]
    >>> extension("score", "Decimal", float("nan"))
    []
    """
    if isinstance(value, float):
        value = round(value, _DIGITS) if math.isfinite(value) else None
    return [] if value is None else [{"url": name, f"value{kind}": value}]


def coding(candidate: Candidate, vocabularies: Vocabularies = _NAMED) -> Resource:
    """Return a concept as a Coding: code system, code and preferred name. No person selected it.

    >>> coding(Candidate("mesh:D005334", "pyrexia", 0.9, "Fever"))
    {'system': 'https://www.nlm.nih.gov/mesh', 'code': 'D005334', 'display': 'Fever', 'userSelected': False}
    """
    coded = vocabularies.coded(candidate.concept_id)
    version = {"version": coded.version} if coded.version else {}
    shown = string_of(candidate.preferred_name or candidate.name)
    display = {"display": shown} if shown else {}
    return {"system": coded.system, **version, "code": coded.code, **display, "userSelected": False}


def codeable_concept(link: Link, vocabularies: Vocabularies = _NAMED, *, text: bool = True) -> Resource | None:
    """Return the answer of a link as a CodeableConcept; its text is the mention. None where nothing could be in it.

    Further candidates are left out: in a CodeableConcept, several codings mean the same. An unlinked mention has text alone.

    >>> from onym.types import Mention
    >>> fever = Link(Mention(0, 7, "Pyrexia"), (Candidate("hp:0001945", "pyrexia", 1.0, "Fever"),))
    >>> codeable_concept(fever)["coding"][0]["code"], codeable_concept(fever)["text"]
    ('HP:0001945', 'Pyrexia')
    >>> codeable_concept(Link(Mention(0, 3, "zzz"))), codeable_concept(Link(Mention(0, 3, "zzz")), text=False)
    ({'text': 'zzz'}, None)
    """
    found: Resource = {} if link.concept_id is None else {"coding": [coding(link.candidates[0], vocabularies)]}
    shown = string_of(link.mention.surface) if text else None
    return found | ({"text": shown} if shown else {}) or None
