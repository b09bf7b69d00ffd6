"""Mappings of terms as a FHIR `ConceptMap`, for R4B (and R4) or R5.

| a term | R4B `equivalence` | R5 `relationship` |
|---|---|---|
| is a name of one concept alone | `equivalent` | `equivalent` |
| has an answer otherwise | `relatedto` | `related-to` |
| has none | `unmatched` | `noMap` |

The map is a draft: a person should review it. A server translates by it without a look, so candidates other than the best are
left out.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import BinaryIO

from onym._version import __version__
from onym.predictions.exchange.fhir import BASE, Resource, code_string, extension, string_of
from onym.predictions.exchange.vocabularies import Vocabularies
from onym.predictions.file import Source
from onym.predictions.mapping.terms import TermMapping, shown_name
from onym.types import Candidate
from onym.views import FhirVersion

TERMS = "urn:onym:terms"
"""The code system of terms that have no other."""
_RELATIONS = {"R4B": ("equivalence", "relatedto"), "R5": ("relationship", "related-to")}
_NO_MATCH: dict[str, Resource] = {"R4B": {"target": [{"equivalence": "unmatched"}]}, "R5": {"noMap": True}}


@dataclass
class _Element:
    """A code, and its targets by the vocabulary that they are of."""

    display: str | None
    targets: dict[str, dict[str, Resource]] = field(default_factory=dict)


def write_concept_map(
    mappings: Iterable[TermMapping],
    linker: Source,
    file: BinaryIO,
    *,
    version: FhirVersion = "R4B",
    vocabularies: Vocabularies | None = None,
    code_column: int | None = None,
    source: str = "",
) -> None:
    """Write a ConceptMap. A code that several rows have is one element, with the targets of all of them; empty rows have none.

    The code of a term is in the column `code_column` of its row; by default it is the term. `source` is the URI of the codes.
    """
    vocabularies = vocabularies or Vocabularies()
    elements: dict[str, _Element] = {}
    for mapping in mappings:
        code = code_string(mapping.cells[code_column] if code_column is not None else mapping.term)
        if not mapping.term or not code:
            continue
        element = elements.setdefault(code, _Element(string_of(mapping.term)))
        if mapping.answer:
            prefix = mapping.answer.concept_id.partition(":")[0]
            found = element.targets.setdefault(vocabularies.system(prefix), {})
            found.setdefault(mapping.answer.concept_id, _target(mapping, mapping.answer, linker, version, vocabularies))
    resource = _resource(elements, linker, version, vocabularies, source or TERMS)
    file.write(json.dumps(resource, ensure_ascii=False, indent=1).encode() + b"\n")


def _resource(
    elements: dict[str, _Element], linker: Source, version: FhirVersion, vocabularies: Vocabularies, source: str
) -> Resource:
    default = vocabularies.system(next(iter(linker.kb.order.vocabularies), ""))
    groups = _groups(elements, version, default, source)
    content = json.dumps([linker.config, linker.kb.digest, groups])
    key = str(uuid.uuid5(uuid.NAMESPACE_OID, content))
    made = f"onym {__version__}, linker {linker.config['linker']}, knowledge base {linker.kb.digest}"
    return {
        "resourceType": "ConceptMap",
        "id": key,
        "url": f"urn:uuid:{key}",
        "name": "OnymMapping",
        "title": "Terms mapped by Onym",
        "status": "draft",
        "description": f"Proposed by {made}. Not reviewed.",
        **({"group": groups} if groups else {}),
    }


def _groups(elements: dict[str, _Element], version: FhirVersion, default: str, source: str) -> list[Resource]:
    """Return a group for each vocabulary of the answers; terms without an answer are in the first one."""
    systems = list(dict.fromkeys(system for each in elements.values() for system in each.targets)) or [default]
    groups = []
    for number, system in enumerate(systems):
        inside = [
            _element(code, each, system, version)
            for code, each in elements.items()
            if system in each.targets or (number == 0 and not each.targets)
        ]
        if inside:
            groups.append({**_scope("source", source, version), **_scope("target", system, version), "element": inside})
    return groups


def _scope(name: str, system: str, version: FhirVersion) -> Resource:
    """Return the code system of a group's side. In R5 the version is a part of the URI, in R4B an element of its own."""
    uri, _, number = system.partition("|")
    return {name: system} if version == "R5" or not number else {name: uri, f"{name}Version": number}


def _element(code: str, element: _Element, system: str, version: FhirVersion) -> Resource:
    display = {"display": element.display} if element.display else {}
    targets = list(element.targets.get(system, {}).values())
    return {"code": code, **display, **({"target": targets} if targets else _NO_MATCH[version])}


def _target(
    mapping: TermMapping, answer: Candidate, linker: Source, version: FhirVersion, vocabularies: Vocabularies
) -> Resource:
    key, otherwise = _RELATIONS[version]
    shown = string_of(shown_name(answer, linker.kb))
    found = [
        *extension(f"{BASE}:confidence", "Decimal", mapping.confidence),
        *extension(f"{BASE}:score", "Decimal", float(answer.score)),
    ]
    return {
        **({"extension": found} if found else {}),
        "code": vocabularies.coded(answer.concept_id).code,
        **({"display": shown} if shown else {}),
        key: "equivalent" if mapping.is_exact else otherwise,
        "comment": _comment(mapping, answer),
    }


def _comment(mapping: TermMapping, answer: Candidate) -> str:
    ties = f"; {mapping.tied} more with the same score" if mapping.tied else ""
    return f"matched name: {code_string(answer.name) or '-'}{ties}"
