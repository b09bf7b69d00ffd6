"""Validate FHIR and OMOP exports with the libraries that hospitals use: fhir.resources, and the tables of pyomop.

All abstracts of BC5CDR are linked with the starter and assertion marks, together with mentions that are hard to serialise; the
corpus's disease mentions are mapped as a column of terms. The files are written, read again and validated: FHIR as R4B and R5,
OMOP by inserting all rows into a database with foreign keys. Made-up OMOP concept ids replace Athena's download.

documents            documents linked and written: abstracts, and documents that are hard to serialise
mentions             mentions in these documents
resources            validated resources: a Basic per document, with and without text, and ConceptMaps, for each FHIR release
codeable_concepts    CodeableConcepts validated separately, in R4B and R5
map_elements         elements of the ConceptMap: distinct codes of terms
note_nlp_rows, source_map_rows   rows inserted
invalid              resources, CodeableConcepts and rows that were rejected, or changed when read again
lost                 mentions and terms that are missing in one of the files, or have another offset or code
texts_left           texts of mentions in a file that was written without text
broken               resources and files that are broken on purpose, each in one way, to test the validators
broken_accepted      broken resources and files that the validators accepted
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.report import data_folder

from onym.datasets.prepared import open_dataset
from onym.outputs.base import ExportOptions, OutputContext, Vocabularies, code_of, write_output
from onym.outputs.fhir import code_string
from onym.outputs.mapping import map_table, map_terms, read_terms
from onym.outputs.omop import CONCEPTS, SOURCE_VOCABULARY, OmopConcepts, short_code, site_concepts
from onym.packs import load
from onym.pipeline import Pipeline
from onym.types import Document, LinkedDocument, style_id
from tests.robustness.outputs.broken import (
    NOTE_NLP,
    SOURCE_MAP,
    iter_broken_documents,
    iter_broken_maps,
    iter_broken_tables,
    write_stand_in,
)
from tests.robustness.outputs.flat_output import hostile_documents
from tests.robustness.outputs.rules import VERSIONS, OmopDatabase, fhir_problems

UPPER_BOUNDS = {"invalid": 0, "lost": 0, "texts_left": 0, "broken_accepted": 0}
LOWER_BOUNDS = {"documents": 30, "broken": 60}
_QUICK, _QUICK_TERMS = 30, 200
_DAY = datetime.date(2026, 1, 31)
Resource = dict[str, Any]


def run(options: argparse.Namespace) -> dict[str, object]:
    docs = [doc for split in ("train", "dev", "test") for doc in open_dataset("bc5cdr", data_folder()).documents(split)]
    docs = docs[:_QUICK] if options.quick else docs
    pipeline = load("starter").with_assertion()
    linked = list(pipeline.link_many([replace(doc, mentions=()) for doc in docs])) + list(hostile_documents())
    with tempfile.TemporaryDirectory() as name:
        bench = _Bench(pipeline, Path(name))
        bench.judge_documents(linked)
        bench.judge_notes(linked)
        bench.judge_terms(list(_terms(docs))[: _QUICK_TERMS if options.quick else None])
    counts = {"documents": len(linked), "mentions": sum(len(each.links) for each in linked)}
    return {**counts, **bench.figures}


def _terms(docs: Sequence[Document]) -> Iterator[str]:
    """Yield the distinct disease mentions of documents, and terms that are hard to serialise."""
    found = (mention.surface for doc in docs for mention in doc.mentions if mention.type == "Disease")
    yield from dict.fromkeys([*_HARD, *found])


_HARD = (
    "=1+1",
    "heart\tattack",
    "  fever  ",
    "fever ;|~^\\&",
    "\u0153dema \U0001f9ec",
    "zzzz",
    "carcinoma " * 40,
    "a\nb",
    '"MI"',
)


class _Bench:
    """The files of one run, and their validation results."""

    def __init__(self, pipeline: Pipeline, folder: Path) -> None:
        self._pipeline, self._folder = pipeline, folder
        self._vocabulary = folder / "athena"
        self._vocabulary.mkdir()
        write_stand_in(pipeline.kb, self._vocabulary)
        self._database = OmopDatabase()
        self._database.add_concepts(self._vocabulary / CONCEPTS)
        self._database.add_vocabulary(SOURCE_VOCABULARY)
        self._counts: Counter[str] = Counter()

    @property
    def figures(self) -> dict[str, int]:
        names = ("resources", "codeable_concepts", "map_elements", "note_nlp_rows", "source_map_rows", "invalid", "lost")
        return {name: self._counts[name] for name in (*names, "texts_left", "broken", "broken_accepted")}

    def judge_documents(self, linked: Sequence[LinkedDocument]) -> None:
        """Write documents as FHIR, with and without text."""
        with_text, without = (self._documents(linked, text=text) for text in (True, False))
        for each, resource in zip(linked, with_text, strict=True):
            self._counts["lost"] += _count_lost_mentions(each, resource)
        texts = {link.mention.surface for each in linked for link in each.links if len(link.mention.surface) > 3}
        self._counts["texts_left"] += sum(concept.get("text", "") != "" for concept in _concepts(without))
        self._counts["texts_left"] += sum(string in texts for resource in without for string in _strings(resource, "text"))
        good = next(resource for resource in with_text if any("coding" in each for each in _concepts([resource])))
        self._judge_broken(iter_broken_documents(good), VERSIONS)

    def _documents(self, linked: Sequence[LinkedDocument], *, text: bool) -> list[Resource]:
        path = self._folder / f"{text}.fhir.ndjson"
        write_output(linked, "fhir", OutputContext(path, self._pipeline.source(), text))
        resources = [json.loads(line) for line in path.read_bytes().decode().split("\n")[:-1]]
        for version in VERSIONS:
            self._judge(resources, version)
            for concept in _concepts(resources):
                self._counts["codeable_concepts"] += 1
                self._counts["invalid"] += bool(fhir_problems({"resourceType": "CodeableConcept"} | concept, version))
        return resources

    def judge_notes(self, linked: Sequence[LinkedDocument]) -> None:
        """Write note_nlp files: documents with numeric ids by id, and all documents by note keys, without text."""
        numbered = [each for each in linked if each.document.id.isdecimal() and each.document.id.isascii()]
        options = ExportOptions(nlp_date=_DAY, omop_vocabulary=self._vocabulary)
        keyed = replace(options, note_keys=self._folder / "keys.csv")
        concepts = site_concepts(options, self._pipeline.kb.order.vocabularies)
        source = self._pipeline.source()
        for docs, each, text in ((numbered, options, True), (linked, keyed, False), (linked, keyed, True)):
            path = self._folder / f"{len(docs)}-{text}-note_nlp.csv"
            write_output(docs, "omop", OutputContext(path, source, text, options=each, force=True))
            self._counts["invalid"] += self._database.invalid_rows(path, "note_nlp")
            self._counts["note_nlp_rows"] += self._database.count("note_nlp")
            self._database.clear("note_nlp")
            self._counts["lost"] += _count_lost_rows(docs, path, concepts, is_numbered=each is keyed)
            if not text:
                self._counts["texts_left"] += sum(
                    bool(row["snippet"]) or row["lexical_variant"] != "[omitted]" for row in _rows(path)
                )
        self._judge_broken_tables(path, NOTE_NLP, "note_nlp")

    def judge_terms(self, terms: Sequence[str]) -> None:
        """Map terms to ConceptMaps of both FHIR releases, and to source_to_concept_map."""
        table = self._folder / "terms.csv"
        with table.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["term"], *([term] for term in terms)])
        answers = {
            mapping.term: mapping.answer.concept_id if mapping.answer else None
            for mapping in map_terms(read_terms(table, "term"), self._pipeline)
        }
        for version in VERSIONS:
            path = self._folder / f"{version}.fhir.json"
            map_table(table, "term", self._pipeline, path, options=ExportOptions(fhir_version=version))  # type: ignore[arg-type]
            resource = json.loads(path.read_bytes())
            self._judge([resource], version)
            self._counts["lost"] += _count_lost_terms(answers, resource)
            self._counts["map_elements"] = sum(len(group["element"]) for group in resource["group"])
            self._judge_broken(iter_broken_maps(resource, version), (version,))
        options = ExportOptions(omop_vocabulary=self._vocabulary)
        path = self._folder / "source_to_concept_map.csv"
        map_table(table, "term", self._pipeline, path, options=options)
        self._counts["invalid"] += self._database.invalid_rows(path, "source_to_concept_map")
        self._counts["source_map_rows"] = self._database.count("source_to_concept_map")
        self._counts["lost"] += _count_lost_codes(answers, path, site_concepts(options, self._pipeline.kb.order.vocabularies))
        self._judge_broken_tables(path, SOURCE_MAP, "source_to_concept_map")

    def _judge(self, resources: Sequence[Resource], version: str) -> None:
        self._counts["resources"] += len(resources)
        self._counts["invalid"] += sum(bool(fhir_problems(resource, version)) for resource in resources)

    def _judge_broken(self, resources: Iterator[Resource], versions: Sequence[str] | dict[str, str]) -> None:
        for resource in resources:
            for version in versions:
                self._counts["broken"] += 1
                self._counts["broken_accepted"] += not fhir_problems(resource, version)

    def _judge_broken_tables(self, path: Path, breaks: dict[str, dict[str, str]], name: str) -> None:
        folder = self._folder / f"broken-{name}"
        folder.mkdir()
        for broken in iter_broken_tables(path, breaks, folder):
            self._counts["broken"] += 1
            self._counts["broken_accepted"] += not self._database.invalid_rows(broken, name)


def _concepts(resources: Sequence[Resource]) -> Iterator[Resource]:
    for resource in resources:
        for mention in resource.get("extension", ()):
            yield from (each["valueCodeableConcept"] for each in mention["extension"] if each["url"] == "concept")


def _strings(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from ([inner] if key == name and isinstance(inner, str) else _strings(inner, name))
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each, name)


def _count_lost_mentions(linked: LinkedDocument, resource: Resource) -> int:
    """Count the links of a document whose offsets, code or marks differ in its resource."""
    wanted: Counter[tuple[Any, ...]] = Counter(
        (link.mention.start, link.mention.end, code_of(link.concept_id) if link.concept_id else None, link.assertion or ())
        for link in linked.links
    )
    return (wanted - Counter(map(_read_mention, resource.get("extension", ())))).total()


def _read_mention(mention: Resource) -> tuple[Any, ...]:
    values = {each["url"]: next(value for key, value in each.items() if key != "url") for each in mention["extension"]}
    coding = values.get("concept", {}).get("coding", [{}])
    marks = tuple(each["valueCode"] for each in mention["extension"] if each["url"] == "assertion")
    return values["start"], values["end"], coding[0].get("code"), marks


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _count_lost_rows(linked: Sequence[LinkedDocument], path: Path, concepts: OmopConcepts, *, is_numbered: bool) -> int:
    """Count the links whose note, offsets, code or standard concepts differ in the table."""
    wanted: Counter[tuple[str, ...]] = Counter()
    for number, each in enumerate(linked, 1):
        note = str(number if is_numbered else int(each.document.id))
        for link in each.links:
            found = concepts.find(*Vocabularies().omop(link.concept_id)) if link.concept_id else None
            code = f"code={style_id(link.concept_id)}" if link.concept_id else ""
            for standard in [one.id for one in found.standard] or [0] if found else [0]:
                wanted[note, str(link.mention.start), f"end={link.mention.end}", code, str(standard)] += 1
    there: Counter[tuple[str, ...]] = Counter()
    for row in _rows(path):
        said = row["term_modifiers"].split(";")
        code, end = (next((one for one in said if one.startswith(name)), "") for name in ("code=", "end="))
        there[row["note_id"], row["offset"], end, code, row["note_nlp_concept_id"]] += 1
    return (wanted - there).total() + (there - wanted).total()


def _count_lost_terms(answers: dict[str, str | None], resource: Resource) -> int:
    """Count the terms whose answer is missing from a ConceptMap."""
    there = {
        element["code"]: [target["code"] for target in element.get("target", ()) if "code" in target]
        for group in resource["group"]
        for element in group["element"]
    }
    wanted = {code_string(term): [code_of(answer)] if answer else [] for term, answer in answers.items()}
    return sum(there.get(code or "") != targets for code, targets in wanted.items())


def _count_lost_codes(answers: dict[str, str | None], path: Path, concepts: OmopConcepts) -> int:
    """Count the terms for which source_to_concept_map lacks a standard concept."""
    there: dict[str, set[int]] = {}
    for row in _rows(path):
        there.setdefault(row["source_code"], set()).add(int(row["target_concept_id"]))
    lost = 0
    for term, answer in answers.items():
        found = concepts.find(*Vocabularies().omop(answer)) if answer else None
        lost += there.get(short_code(term)) != ({one.id for one in found.standard} if found and found.standard else {0})
    return lost
