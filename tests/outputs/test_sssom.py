"""Tests of writing mapped terms as SSSOM."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path

from onym.kb import KnowledgeBase
from onym.methods.exact import ExactLinker
from onym.outputs.base import TermContext
from onym.outputs.sssom import COLUMNS, write_terms
from onym.outputs.terms import TermMapping
from onym.pipeline import Pipeline
from onym.types import Candidate


def write_sssom(tiny_kb: Path, top_k: int | None = None) -> tuple[list[str], list[dict[str, str]]]:
    mappings = [
        TermMapping(("Pyrexia",), "Pyrexia", (Candidate("mesh:D005334", "pyrexia", 1.0),)),
        TermMapping(("MI",), "MI", (Candidate("mesh:D006973", "mi", 1.0), Candidate("mesh:D009203", "mi", 1.0)), tied=1),
        TermMapping(("fevr",), "fevr", (Candidate("mesh:D005334", "fever", 0.6),)),
        TermMapping(("xyz",), "xyz", ()),
    ]
    file = io.BytesIO()
    pipeline = Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb)))
    write_terms(mappings, file, TermContext(Path("a.sssom.tsv"), ["term"], pipeline, Counter(), top_k=top_k))
    lines = file.getvalue().decode().splitlines()
    head = [line for line in lines if line.startswith("#")]
    return head, list(csv.DictReader(lines[len(head) :], dialect="excel-tab"))


def test_only_an_unshared_name_states_an_exact_match(tiny_kb: Path) -> None:
    _, rows = write_sssom(tiny_kb)
    mappings = [(row["subject_label"], row["predicate_id"], row["object_id"]) for row in rows]
    assert mappings == [
        ("Pyrexia", "skos:exactMatch", "mesh:D005334"),
        ("MI", "skos:closeMatch", "mesh:D006973"),
        ("fevr", "skos:closeMatch", "mesh:D005334"),
    ]
    assert rows[2]["mapping_justification"] == "semapv:LexicalSimilarityThresholdMatching"
    assert (rows[0]["object_match_field"], rows[2]["object_match_field"]) == ("skos:altLabel", "skos:prefLabel")
    assert tuple(rows[0]) == COLUMNS


def test_further_candidates_are_written_on_request(tiny_kb: Path) -> None:
    _, rows = write_sssom(tiny_kb, top_k=2)
    assert [row["object_id"] for row in rows if row["subject_label"] == "MI"] == ["mesh:D006973", "mesh:D009203"]


def test_header_lists_prefixes_and_is_reproducible(tiny_kb: Path) -> None:
    head, _ = write_sssom(tiny_kb)
    assert '#  mesh: "https://bioregistry.io/mesh:"' in head
    assert any(line.startswith("#mapping_set_id: urn:uuid:") for line in head)
    assert head == write_sssom(tiny_kb)[0]
