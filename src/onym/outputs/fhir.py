"""FHIR exports: links as CodeableConcepts, linked documents as `Basic` resources, and mapped terms as a ConceptMap.

The JSON of CodeableConcept and Basic is the same in R4, R4B and R5.
"""

from __future__ import annotations

import json
import math
import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from onym._version import __version__
from onym.errors import ConfigError
from onym.outputs.base import ExportOptions, OutputContext, TermContext, Vocabularies, require_uri
from onym.outputs.terms import TermMapping, display_name
from onym.pipeline.pipeline import Pipeline
from onym.types import Candidate, Document, Link, LinkedDocument
from onym.vocabularies import FhirVersion

ENDINGS, TERM_ENDINGS = (".fhir.ndjson",), (".fhir.json",)
Resource = dict[str, Any]
"""A FHIR resource or element, as a JSON object."""
BASE = "urn:onym:fhir"
"""URI prefix of Onym's extensions."""
_DIGITS = 6  # number of decimals of scores and confidences
_NO_STRING = re.compile(r"[^\S \t\n\r]|[\x00-\x08\x0e-\x1f]")  # characters that FHIR does not allow in strings
_NAMED = Vocabularies()


def string_of(text: str) -> str | None:
    r"""Return a text as a FHIR string: control characters and unusual white space become spaces; None if it is blank.

    >>> string_of("heart\x01attack"), string_of(" ")
    ('heart attack', None)
    """
    found = _NO_STRING.sub(" ", text)
    return found if found.strip() else None


def code_string(text: str) -> str | None:
    r"""Return a text as a FHIR code: white space is collapsed to single spaces and stripped; None if it is blank.

    >>> code_string(" heart \t attack ")
    'heart attack'
    """
    return " ".join(_NO_STRING.sub(" ", text).split()) or None


def extension(name: str, kind: str, value: Any) -> list[Resource]:
    """Return a list with one extension element; an empty list if the value is None, NaN or infinite.

    >>> extension("start", "UnsignedInt", 7)
    [{'url': 'start', 'valueUnsignedInt': 7}]
    >>> extension("score", "Decimal", float("nan"))
    []
    """
    if isinstance(value, float):
        value = round(value, _DIGITS) if math.isfinite(value) else None
    return [] if value is None else [{"url": name, f"value{kind}": value}]


def coding(candidate: Candidate, vocabularies: Vocabularies = _NAMED) -> Resource:
    """Return a concept as a Coding: code system, code and preferred name, not selected by a user.

    >>> coding(Candidate("mesh:D005334", "pyrexia", 0.9, "Fever"))
    {'system': 'https://www.nlm.nih.gov/mesh', 'code': 'D005334', 'display': 'Fever', 'userSelected': False}
    """
    coded = vocabularies.to_fhir_code(candidate.concept_id)
    version = {"version": coded.version} if coded.version else {}
    shown = string_of(candidate.preferred_name or candidate.name)
    display = {"display": shown} if shown else {}
    return {"system": coded.system, **version, "code": coded.code, **display, "userSelected": False}


def codeable_concept(link: Link, vocabularies: Vocabularies = _NAMED, *, text: bool = True) -> Resource | None:
    """Return the answer of a link as a CodeableConcept with the mention as text; None if it has neither code nor text.

    Only the best candidate is included, because FHIR takes several codings of a CodeableConcept for synonyms. An unlinked
    mention has only text.

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


TERMS = "urn:onym:terms"
"""Default code system of the terms."""
_RELATIONS = {"R4B": ("equivalence", "relatedto"), "R5": ("relationship", "related-to")}
_NO_MATCH: dict[str, Resource] = {"R4B": {"target": [{"equivalence": "unmatched"}]}, "R5": {"noMap": True}}


@dataclass
class _Element:
    """An element of a ConceptMap: the display of a code, and its targets by vocabulary and concept id."""

    display: str | None
    targets: dict[str, dict[str, Resource]] = field(default_factory=dict)


def check_terms(path: Path, options: ExportOptions) -> None:  # noqa: ARG001 - of the protocol
    """Raise ConfigError if options are invalid for a ConceptMap."""
    _check_vocabularies(options)
    if options.source_system:
        require_uri(options.source_system)


def write_terms(mappings: Iterable[TermMapping], file: BinaryIO, context: TermContext) -> None:
    """Write mapped terms as a ConceptMap."""
    options = context.options
    write_concept_map(
        mappings,
        context.pipeline,
        file,
        version=options.fhir_version or "R4B",
        vocabularies=options.vocabularies,
        code_column=context.code_column,
        source=options.source_system,
    )


def write_concept_map(
    mappings: Iterable[TermMapping],
    pipeline: Pipeline,
    file: BinaryIO,
    *,
    version: FhirVersion = "R4B",
    vocabularies: Vocabularies | None = None,
    code_column: int | None = None,
    source: str = "",
) -> None:
    """Write a ConceptMap. Rows with the same code are merged into one element; rows without a term are skipped.

    `code_column` is the index of the column with the codes; None means that the terms are the codes. `source` is the URI of
    their code system.
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
            found.setdefault(mapping.answer.concept_id, _target(mapping, mapping.answer, pipeline, version, vocabularies))
    resource = _resource(elements, pipeline, version, vocabularies, source or TERMS)
    file.write(json.dumps(resource, ensure_ascii=False, indent=1).encode() + b"\n")


def _resource(
    elements: dict[str, _Element], pipeline: Pipeline, version: FhirVersion, vocabularies: Vocabularies, source: str
) -> Resource:
    default = vocabularies.system(next(iter(pipeline.kb.order.vocabularies), ""))
    groups = _groups(elements, version, default, source)
    content = json.dumps([pipeline.linker.config, pipeline.kb.digest, groups])
    key = str(uuid.uuid5(uuid.NAMESPACE_OID, content))
    made = f"onym {__version__}, linker {pipeline.linker.config['linker']}, knowledge base {pipeline.kb.digest}"
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
    """Return one group per target vocabulary; terms without an answer are in the first group."""
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
    """Return the code system of the source or target; the version is part of the URI in R5, a separate element in R4B."""
    uri, _, number = system.partition("|")
    return {name: system} if version == "R5" or not number else {name: uri, f"{name}Version": number}


def _element(code: str, element: _Element, system: str, version: FhirVersion) -> Resource:
    display = {"display": element.display} if element.display else {}
    targets = list(element.targets.get(system, {}).values())
    return {"code": code, **display, **({"target": targets} if targets else _NO_MATCH[version])}


def _target(
    mapping: TermMapping, answer: Candidate, pipeline: Pipeline, version: FhirVersion, vocabularies: Vocabularies
) -> Resource:
    key, otherwise = _RELATIONS[version]
    shown = string_of(display_name(answer, pipeline.kb))
    found = [
        *extension(f"{BASE}:confidence", "Decimal", mapping.confidence),
        *extension(f"{BASE}:score", "Decimal", float(answer.score)),
    ]
    return {
        **({"extension": found} if found else {}),
        "code": vocabularies.to_fhir_code(answer.concept_id).code,
        **({"display": shown} if shown else {}),
        key: "equivalent" if mapping.is_exact else otherwise,
        "comment": _comment(mapping, answer),
    }


def _comment(mapping: TermMapping, answer: Candidate) -> str:
    ties = f"; {mapping.tied} more with the same score" if mapping.tied else ""
    return f"matched name: {code_string(answer.name) or '-'}{ties}"


MENTION = f"{BASE}:mention"
CODE = {"coding": [{"system": BASE, "code": "linked-document", "display": "Concepts named in a document"}]}
_IDS = uuid.uuid5(uuid.NAMESPACE_OID, BASE)


def check(context: OutputContext) -> None:
    """Raise ConfigError if OMOP options are given."""
    _check_vocabularies(context.options)
    if context.options.nlp_date or context.options.note_keys:
        raise ConfigError("config-invalid", "--nlp-date and --note-keys apply only to OMOP", fix="drop them")


def _check_vocabularies(options: ExportOptions) -> None:
    options.vocabularies.require_uris()
    if options.omop_vocabulary:
        raise ConfigError("config-invalid", "--omop-vocabulary applies only to OMOP", fix="drop it")


def write(linked: Iterable[LinkedDocument], file: BinaryIO, context: OutputContext) -> None:
    """Write one line per linked document; `context.text` says whether the text of mentions is included."""
    for each in linked:
        if each.is_complete:
            resource = fhir_document(each, context.options.vocabularies, text=context.text)
            file.write(json.dumps(resource, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


def fhir_document(linked: LinkedDocument, vocabularies: Vocabularies | None = None, *, text: bool = True) -> Resource:
    """Return a linked document as a `Basic` resource, with an id derived from the document.

    >>> from onym.types import Candidate, Mention
    >>> fever = Mention(5, 10, "fever")
    >>> link = Link(fever, (Candidate("mesh:D005334", "fever", 1.0, "Fever"),), confidence=0.98)
    >>> resource = fhir_document(LinkedDocument(Document("n1", "High fever", (fever,)), (link,)))
    >>> resource["resourceType"], resource["subject"]["identifier"]["value"]
    ('Basic', 'n1')
    >>> [each["url"] for each in resource["extension"][0]["extension"]]
    ['start', 'end', 'concept', 'confidence', 'score']
    """
    vocabularies = vocabularies or Vocabularies()
    mentions = [_mention(link, vocabularies, text=text) for link in linked.links]
    return {
        "resourceType": "Basic",
        "id": str(uuid.uuid5(_IDS, json.dumps(linked.document.key))),
        **({"extension": mentions} if mentions else {}),
        "code": CODE,
        **_subject(linked.document),
    }


def _subject(doc: Document) -> Resource:
    name = string_of(doc.id)
    return {"subject": {"type": "DocumentReference", "identifier": {"value": name}}} if name else {}


def _mention(link: Link, vocabularies: Vocabularies, *, text: bool) -> Resource:
    """Return a mention and its link as an extension. `start` and `end` are code point offsets, end exclusive."""
    mention = link.mention
    parts = [
        {"url": "part", "extension": [*extension("start", "UnsignedInt", start), *extension("end", "UnsignedInt", end)]}
        for start, end in mention.parts
    ]
    best = link.answer
    values = [
        *extension("start", "UnsignedInt", mention.start),
        *extension("end", "UnsignedInt", mention.end),
        *parts,
        *extension("concept", "CodeableConcept", codeable_concept(link, vocabularies, text=text)),
        *extension("type", "String", string_of(link.type)),
        *extension("confidence", "Decimal", link.confidence),
        *extension("score", "Decimal", float(best.score) if best else None),
        *extension("ties", "UnsignedInt", link.tied or None),
        *extension("nil-reason", "Code", link.nil_reason),
        *(each for mark in link.assertion or () for each in extension("assertion", "Code", mark)),
    ]
    return {"url": MENTION, "extension": values}
