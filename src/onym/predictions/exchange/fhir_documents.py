"""Linked documents as FHIR: one `Basic` resource for each, a line of NDJSON, with an extension for each mention.

A `Condition` or an `Observation` would say something about a patient. A mention says that a text names a concept, and no more:
it may be negated, or about a relative. `Basic` is FHIR's resource for what no other one is for, and any server stores it. Its
subject is the document, by identifier.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from typing import BinaryIO

from onym.predictions.exchange.fhir import BASE, Resource, codeable_concept, extension, string_of
from onym.predictions.exchange.vocabularies import Vocabularies
from onym.types import Document, Link, LinkedDocument

MENTION = f"{BASE}:mention"
CODE = {"coding": [{"system": BASE, "code": "linked-document", "display": "Concepts named in a document"}]}
_IDS = uuid.uuid5(uuid.NAMESPACE_OID, BASE)


def write_fhir(
    linked: Iterable[LinkedDocument], file: BinaryIO, vocabularies: Vocabularies | None = None, *, text: bool = True
) -> None:
    """Write a line for each document that was linked; without `text`, the texts of mentions are left out."""
    for each in linked:
        if each.is_complete:
            resource = fhir_document(each, vocabularies, text=text)
            file.write(json.dumps(resource, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


def fhir_document(linked: LinkedDocument, vocabularies: Vocabularies | None = None, *, text: bool = True) -> Resource:
    """Return a linked document as a `Basic` resource. The same document has the same id.

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
    """Return what is known of a mention. `start` and `end` count code points of the document's text, end exclusive."""
    mention = link.mention
    parts = [
        {"url": "part", "extension": [*extension("start", "UnsignedInt", start), *extension("end", "UnsignedInt", end)]}
        for start, end in mention.parts
    ]
    is_linked = link.concept_id is not None
    kind = mention.type or (link.candidates[0].type if is_linked else "")
    values = [
        *extension("start", "UnsignedInt", mention.start),
        *extension("end", "UnsignedInt", mention.end),
        *parts,
        *extension("concept", "CodeableConcept", codeable_concept(link, vocabularies, text=text)),
        *extension("type", "String", string_of(kind)),
        *extension("confidence", "Decimal", link.confidence),
        *extension("score", "Decimal", float(link.candidates[0].score) if is_linked else None),
        *extension("ties", "UnsignedInt", link.tied or None),
        *extension("nil-reason", "Code", link.nil_reason),
        *(each for mark in link.assertion or () for each in extension("assertion", "Code", mark)),
    ]
    return {"url": MENTION, "extension": values}
