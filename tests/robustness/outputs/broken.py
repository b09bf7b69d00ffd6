"""Resources and rows that are broken on purpose, each in one way, to check that the validators reject them."""

from __future__ import annotations

import copy
import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from onym.kb import KnowledgeBase
from onym.outputs.base import Vocabularies
from onym.outputs.omop import CONCEPTS, RELATIONSHIPS

Resource = dict[str, Any]
Break = Callable[[Resource], Any]


def iter_broken_documents(good: Resource) -> Iterator[Resource]:
    """Yield `Basic` resources with a linked mention, each broken in one way."""
    yield from _iter_broken(good, _DOCUMENTS)


def iter_broken_maps(good: Resource, version: str) -> Iterator[Resource]:
    """Yield ConceptMaps with a mapped term, each broken in one way, such as the syntax of another FHIR release."""
    yield from _iter_broken(good, (*_MAPS, _OTHER_RELEASE[version]))


def iter_broken_tables(path: Path, breaks: dict[str, dict[str, str]], folder: Path) -> Iterator[Path]:
    """Yield files with the first row of a table, with one cell or the header broken in each way."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        head, good = list(reader.fieldnames or ()), next(reader)
    for number, (name, cells) in enumerate(breaks.items()):
        broken = folder / f"{number}.csv"
        columns = head[:-1] if name == "header" else head
        with broken.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            row = good | {"note_nlp_id": str(_KEY + number), "source_code": f"code {number}"} | cells
            writer.writerows([row, row] if name == "key" else [row])
        yield broken


NOTE_NLP = {
    "header": {},
    "key": {},
    "a note that is no number": {"note_id": "ward 7"},
    "no note": {"note_id": ""},
    "no mention": {"lexical_variant": ""},
    "a mention that is too long": {"lexical_variant": "x" * 251},
    "a snippet that is too long": {"snippet": "x" * 251},
    "an offset that is too long": {"offset": "1" * 51},
    "a concept that is not there": {"note_nlp_concept_id": "77"},
    "a source concept that is no number": {"note_nlp_source_concept_id": "D005334"},
    "no day": {"nlp_date": ""},
    "a day that is none": {"nlp_date": "31.12.2026"},
    "a flag that is too long": {"term_exists": "No"},
    "modifiers that are too long": {"term_modifiers": "x" * 2001},
}
SOURCE_MAP = {
    "header": {},
    "key": {},
    "no code": {"source_code": ""},
    "a code that is too long": {"source_code": "x" * 51},
    "a description that is too long": {"source_code_description": "x" * 256},
    "a vocabulary that is not there": {"source_vocabulary_id": "ELSEWHERE"},
    "a target that is not there": {"target_concept_id": "77"},
    "no target": {"target_concept_id": ""},
    "a target vocabulary that is not there": {"target_vocabulary_id": "ELSEWHERE"},
    "a day that is none": {"valid_start_date": "2026-02-30"},
    "a reason that is too long": {"invalid_reason": "deleted"},
}
_KEY = 2_000_000_000  # primary keys from this number on are unused


def _iter_broken(good: Resource, ways: tuple[Break, ...]) -> Iterator[Resource]:
    for way in ways:
        resource = copy.deepcopy(good)
        way(resource)
        yield resource


def _mention(resource: Resource) -> list[Resource]:
    found: list[Resource] = resource["extension"][0]["extension"]
    return found


def _value(resource: Resource, name: str) -> Resource:
    return next(each for each in _mention(resource) if each["url"] == name)


def _coding(resource: Resource) -> Resource:
    found: Resource = _value(resource, "concept")["valueCodeableConcept"]["coding"][0]
    return found


def _target(resource: Resource) -> Resource:
    found: Resource = next(each for each in resource["group"][0]["element"] if "code" in each.get("target", [{}])[0])
    return found


_DOCUMENTS: tuple[Break, ...] = (
    lambda resource: resource.pop("resourceType"),
    lambda resource: resource.pop("code"),
    lambda resource: resource.update(code="linked-document"),
    lambda resource: resource.update(id="not an id"),
    lambda resource: resource.update(id="x" * 65),
    lambda resource: resource.update(mentions=[]),
    lambda resource: resource.update(extension=[]),
    lambda resource: resource["extension"][0].pop("url"),
    lambda resource: resource["extension"][0].update(valueString="a value too"),
    lambda resource: resource["extension"][0].pop("extension"),
    lambda resource: resource["subject"].update(identifier="n1"),
    lambda resource: resource["subject"]["identifier"].update(value=""),
    lambda resource: _value(resource, "start").update(valueUnsignedInt=-1),
    lambda resource: _value(resource, "start").update(valueUnsignedInt="first"),
    lambda resource: _value(resource, "start").update(valueInt=7),
    lambda resource: _value(resource, "start").pop("valueUnsignedInt"),
    lambda resource: _value(resource, "score").update(valueDecimal="high"),
    lambda resource: _value(resource, "concept").update(valueCodeableConcept={}),
    lambda resource: _value(resource, "concept")["valueCodeableConcept"].update(text="\x01"),
    lambda resource: _value(resource, "concept")["valueCodeableConcept"].update(text=" "),
    lambda resource: _value(resource, "concept")["valueCodeableConcept"].update(display="Fever"),
    lambda resource: _coding(resource).update(code=" D005334"),
    lambda resource: _coding(resource).update(code="D  1"),
    lambda resource: _coding(resource).update(code=5334),
    lambda resource: _coding(resource).update(system="no uri"),
    lambda resource: _coding(resource).update(userSelected="nobody"),
    lambda resource: _coding(resource).update(display=""),
)
_MAPS: tuple[Break, ...] = (
    lambda resource: resource.pop("status"),
    lambda resource: resource.update(status="finished"),
    lambda resource: resource.update(group={}),
    lambda resource: resource["group"][0].update(element=[]),
    lambda resource: resource["group"][0].pop("element"),
    lambda resource: resource["group"][0].pop("target"),
    lambda resource: resource["group"][0]["element"].append(resource["group"][0]["element"][0]),
    lambda resource: _target(resource).pop("code"),
    lambda resource: _target(resource).update(code="two  spaces"),
    lambda resource: _target(resource)["target"][0].pop("code"),
    lambda resource: _target(resource)["target"][0].update(score=1.0),
    lambda resource: _target(resource)["target"][0].update(comment=""),
)
_OTHER_RELEASE: dict[str, Break] = {
    "R4B": lambda resource: _target(resource)["target"][0].update(
        relationship=_target(resource)["target"][0].pop("equivalence")
    ),
    "R5": lambda resource: _target(resource)["target"][0].update(
        equivalence=_target(resource)["target"][0].pop("relationship")
    ),
}


# Files in the format of Athena's download, made from a knowledge base, because the real files need a licence.

_OWN, _STANDARD = 2_000_000_000, 2_100_000_000
_DAYS = ("19700101", "20991231")
_HEAD = (
    *("concept_id", "concept_name", "domain_id", "vocabulary_id", "concept_class_id", "standard_concept"),
    *("concept_code", "valid_start_date", "valid_end_date", "invalid_reason"),
)
_PAIR = ("concept_id_1", "concept_id_2", "relationship_id", "valid_start_date", "valid_end_date", "invalid_reason")


def write_stand_in(kb: KnowledgeBase, folder: Path) -> None:
    """Write `CONCEPT.csv` and `CONCEPT_RELATIONSHIP.csv`."""
    names = Vocabularies()
    concepts: list[tuple[object, ...]] = [(0, "No matching concept", "Metadata", "None", "Undefined", "", "0", *_DAYS, "")]
    pairs: list[tuple[object, ...]] = []
    for row in range(len(kb)):
        vocabulary, code = names.omop(kb.concept_ids[row])
        kind, own = row % 4, _OWN + row
        if kind == 3:
            continue
        concepts.append((own, f"concept {row}", "Condition", vocabulary, "Disorder", "S" * (kind == 0), code, *_DAYS, ""))
        for target in range(_STANDARD + 2 * row, _STANDARD + 2 * row + kind):
            concepts.append((target, f"standard {target}", "Condition", "SNOMED", "Disorder", "S", str(target), *_DAYS, ""))
            pairs.append((own, target, "Maps to", *_DAYS, ""))
    _write(folder / CONCEPTS, _HEAD, concepts)
    _write(folder / RELATIONSHIPS, _PAIR, pairs)


def _write(path: Path, head: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE)
        writer.writerow(head)
        writer.writerows(rows)
