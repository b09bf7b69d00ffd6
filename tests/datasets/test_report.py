"""Tests of the report that is written when a dataset is prepared."""

from __future__ import annotations

from pathlib import Path

from onym.corpora.base import PART_OF
from onym.datasets import get, prepare
from onym.datasets.base import NO_ID, DropCounts
from onym.datasets.report import Counts, KbCoverage, report_of, rows_of
from onym.kb import KnowledgeBase
from onym.types import Document, Mention
from tests.datasets.made import write_species


def count_documents(kb: Path | None = None) -> Counts:
    counts = Counts(KbCoverage(KnowledgeBase.open(kb)) if kb else None)
    part = ((PART_OF, "1"),)
    mentions = (
        Mention(0, 5, "fever", ("mesh:D005334", "mesh:D0"), notes=part),
        Mention(6, 11, "cough", ("mesh:D005334", "mesh:D0"), notes=part),
        Mention(12, 17, "fever", ("mesh:D005334",)),
    )
    for split in ("train", "test"):
        counts.add(split, Document("1", "fever cough fever", mentions))
    return counts


def test_report_with_kb(tiny_kb: Path) -> None:
    drops = DropCounts()
    drops.drop("train", NO_ID, 4)
    report = report_of(get("s800"), count_documents(tiny_kb), drops, is_own=False)
    assert report["splits"]["train"] == {
        "documents": 1, "mentions": 3, "queries": 2, "in_kb": 1, "dropped": {NO_ID: 4}, "problems": {},
    }  # fmt: skip
    assert report["overlap"]["test in kb"] == {"mentions": 3, "kb_name": 2}
    assert report["kb"]["digest"] == KnowledgeBase.open(tiny_kb).digest
    rows = rows_of(report)
    assert ("split", "test", "1 documents", "3 mentions", "2 queries", "1 in the KB (33.3 %)") in rows
    assert ("dropped", "train", "no id: 4") in rows
    assert rows[-1][0].startswith("OVERLAP: 3 of 3 test mentions (100.0 %)")


def test_report_without_kb(tmp_path: Path) -> None:
    report = prepare("s800", write_species(tmp_path), tmp_path / "out").report
    assert "in_kb" not in report["splits"]["train"]
    assert report["kb"] == {"intended": "NCBI Taxonomy", "digest": "", "is_own": False}
    rows = rows_of(report)
    assert ("kb", "none given: coverage not computed") in rows
    assert (
        "overlap",
        "test in train",
        "same document and offsets: 1 of 2 (50.0 %)",
        "same surface and ids: 2 of 2 (100.0 %)",
    ) in rows
    assert report["warnings"] == [rows[-1][0]]


def test_report_contains_no_document_text(tmp_path: Path) -> None:
    report = prepare("s800", write_species(tmp_path), tmp_path / "out").report
    assert not [row for row in rows_of(report) if "mouse" in " ".join(row).lower()]


def test_reports_type_restriction(tmp_path: Path) -> None:
    report = prepare("s800", write_species(tmp_path), tmp_path / "out").report
    assert ("types", "not restricted") in rows_of(report)
    assert ("types", "candidates are restricted to the gold type") in rows_of(report | {"restricts_types": True})
