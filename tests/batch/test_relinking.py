"""Tests that linking a run again gives the rows of a full run, and links only documents that can change."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onym.batch.changed_names import ChangedNames
from onym.batch.ledger import Ledger, verify
from onym.batch.planning import plan_batch
from onym.batch.relinking import plan_relink
from onym.batch.run import run_batch
from onym.detect.dictionary import DictionaryDetectorConfig
from onym.errors import ConfigError, OnymError
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe, SourceConfig
from onym.linkers.exact import ExactLinkerConfig
from onym.packs.locate import load
from onym.pipeline.folder import build_pipeline
from onym.types import Document
from tests.batch.runs import InlineEngine, bytes_of

Concepts = dict[str, Sequence[str]]
OLD: Concepts = {
    "T:1": ["Fever", "pyrexia"],
    "T:2": ["Heart attack", "myocardial infarction"],
    "T:3": ["Cough"],
    "T:4": ["Cat eye syndrome", "CES"],
    "T:5": ["Tumour"],
}
NEW: Concepts = {
    "T:1": ["Fever"],  # a name was removed
    "T:2": ["Myocardial infarction", "heart attack"],  # renamed
    "T:3": ["Cough"],
    "T:4": ["Cat eye syndrome", "CES"],
    "T:6": ["Tumour"],  # moved to another concept
    "T:7": ["Chest pain", "CP"],  # added
}
TEXTS = {
    "kept": "Cough, fever and cat eye syndrome (CES); CES again.",
    "removed": "Pyrexia was seen.",
    "renamed": "A heart attack.",
    "moved": "Two tumors.",
    "added": "Chest pain.",
    "short": "Severe chest pain (SCP), chest pain (XP).",
    "spelling": "The value of cp was low.",
    "none": "Nothing here.",
}


def write_obo(path: Path, concepts: Concepts) -> Path:
    terms = [
        f"[Term]\nid: {concept}\nname: {names[0]}\n" + "".join(f'synonym: "{name}" EXACT []\n' for name in names[1:])
        for concept, names in concepts.items()
    ]
    path.write_text("\n".join(terms))
    return path


def pipeline_of(folder: Path, name: str, concepts: Concepts, **options: Any) -> Path:
    obo = write_obo(folder / f"{name}.obo", concepts)
    build_kb(Recipe(sources=(SourceConfig(path=str(obo)),)), folder / f"{name}-kb", root=folder)
    build_pipeline(folder / f"{name}-kb", folder / name, **options)
    return folder / name


def write_documents(folder: Path, texts: dict[str, str]) -> Path:
    path = folder / "notes.jsonl"
    path.write_text("".join(json.dumps({"id": each, "text": text}) + "\n" for each, text in texts.items()))
    return path


def link(source: Path, pipeline: Path, out: Path, **options: Any) -> Ledger:
    plan_batch([source], pipeline, out, **options)
    return run_batch(out, engine=InlineEngine())


def relink(tmp_path: Path, old: Path, new: Path, texts: dict[str, str], **options: Any) -> Ledger:
    """Link with the old pipeline, and with the new one in full and again; return the ledger of the latter."""
    source = write_documents(tmp_path, texts)
    link(source, old, tmp_path / "linked", **options)
    full = link(source, new, tmp_path / "full", **options)
    found = plan_relink(tmp_path / "linked", new, tmp_path / "again")
    assert not found.why_all
    ledger = run_batch(tmp_path / "again", engine=InlineEngine())
    assert [shard.key for shard in ledger.plan.shards] == [shard.key for shard in full.plan.shards]
    assert [each.model_copy(update={"reused": 0}) for each in ledger.receipts.values()] == list(full.receipts.values())
    assert not verify(tmp_path / "again")
    return ledger


def test_rows_equal_a_full_run(tmp_path: Path) -> None:
    old, new = pipeline_of(tmp_path, "old", OLD), pipeline_of(tmp_path, "new", NEW)
    ledger = relink(tmp_path, old, new, TEXTS)
    # The name "cp" is too short to be a mention.
    assert ledger.counts()["reused"] == 3


@pytest.mark.parametrize("options", [{"text": False}, {"private": True}, {"assertion": True}, {"concepts": ("T:1", "T:2")}])
def test_options_of_the_run_apply(tmp_path: Path, options: dict[str, Any]) -> None:
    old, new = pipeline_of(tmp_path, "old", OLD), pipeline_of(tmp_path, "new", NEW)
    assert relink(tmp_path, old, new, TEXTS, **options).counts()["reused"] == 3


@pytest.mark.parametrize(
    "detector",
    [
        DictionaryDetectorConfig(nested=True),
        DictionaryDetectorConfig(inflections=False),
        DictionaryDetectorConfig(abbreviations=False, min_length=1),
    ],
)
def test_options_of_detector_and_linker(tmp_path: Path, detector: DictionaryDetectorConfig) -> None:
    options = {"detector": detector, "linker": ExactLinkerConfig(inflections=True)}
    old, new = pipeline_of(tmp_path, "old", OLD, **options), pipeline_of(tmp_path, "new", NEW, **options)
    assert relink(tmp_path, old, new, TEXTS).counts()["reused"] >= 2


_WORDS = (
    "fever",
    "fevers",
    "Fever",
    "ALL",
    "all",
    "hay",
    "a",
    "CP",
    "tumor",
    "tumour",
    "tumors",
    "chest",
    "pain",
    "(CP)",
    "X-1",
)
_NAMES = st.lists(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=3).map(" ".join), min_size=1, max_size=3, unique=True)
_CONCEPTS = st.dictionaries(st.integers(1, 6).map("T:{}".format), _NAMES, min_size=1)
_TEXTS = st.lists(
    st.lists(st.sampled_from((*_WORDS, ",", ".", "and")), max_size=12).map(" ".join), min_size=1, max_size=20
).map(lambda texts: {str(number): text for number, text in enumerate(texts)})


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=_CONCEPTS, new=_CONCEPTS, texts=_TEXTS)
def test_rows_equal_a_full_run_for_any_release(
    tmp_path_factory: pytest.TempPathFactory, old: Concepts, new: Concepts, texts: dict[str, str]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    relink(folder, pipeline_of(folder, "old", old), pipeline_of(folder, "new", new), texts)


def test_annotated_mentions(tmp_path: Path) -> None:
    old, new = pipeline_of(tmp_path, "old", OLD, detector=None), pipeline_of(tmp_path, "new", NEW, detector=None)
    source = tmp_path / "a.jsonl"
    lines = [
        {"id": "1", "text": "xfever", "mentions": [{"start": 1, "end": 6}]},
        {"id": "2", "text": "xpyrexiax", "mentions": [{"start": 1, "end": 8}]},
    ]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    link(source, old, tmp_path / "linked")
    full = link(source, new, tmp_path / "full")
    assert plan_relink(tmp_path / "linked", new, tmp_path / "again").why_all == ""
    ledger = run_batch(tmp_path / "again", engine=InlineEngine())
    assert ledger.counts()["reused"] == 1
    assert ledger.receipts[0].digest == full.receipts[0].digest


def test_same_release_reuses_all_bytes(tmp_path: Path) -> None:
    old = pipeline_of(tmp_path, "old", OLD)
    ledger = relink(tmp_path, old, old, TEXTS)
    assert ledger.counts()["reused"] == len(TEXTS)
    assert plan_relink(tmp_path / "linked", old, tmp_path / "again").changed_names == 0


def test_inexact_pipeline_links_all(tmp_path: Path) -> None:
    reordered = DictionaryDetectorConfig(reordered=True)
    old, new = (pipeline_of(tmp_path, *each, detector=reordered) for each in (("old", OLD), ("new", NEW)))
    source = write_documents(tmp_path, TEXTS)
    link(source, old, tmp_path / "linked")
    full = link(source, new, tmp_path / "full")
    assert "any order" in plan_relink(tmp_path / "linked", new, tmp_path / "again").why_all
    ledger = run_batch(tmp_path / "again", engine=InlineEngine())
    assert ledger.counts()["reused"] == 0
    assert bytes_of(tmp_path / "again") == bytes_of(tmp_path / "full")
    assert ledger.receipts == full.receipts


def test_other_options_link_all(tmp_path: Path) -> None:
    old, new = pipeline_of(tmp_path, "old", OLD), pipeline_of(tmp_path, "new", NEW, top_k=1)
    link(write_documents(tmp_path, TEXTS), old, tmp_path / "linked")
    assert plan_relink(tmp_path / "linked", new, tmp_path / "again").why_all == "the pipelines differ in top_k"


def test_missing_old_pipeline(tmp_path: Path) -> None:
    old, new = pipeline_of(tmp_path, "old", OLD), pipeline_of(tmp_path, "new", NEW)
    link(write_documents(tmp_path, TEXTS), old, tmp_path / "linked")
    moved = old.rename(tmp_path / "elsewhere")
    assert "--old-pipeline" in plan_relink(tmp_path / "linked", new, tmp_path / "all").why_all
    assert not plan_relink(tmp_path / "linked", new, tmp_path / "again", old_pipeline=moved).why_all
    with pytest.raises(OnymError, match="batch-pipeline-changed"):
        plan_relink(tmp_path / "linked", new, tmp_path / "third", old_pipeline=new)


def test_corrupt_or_missing_shards_are_linked(tmp_path: Path) -> None:
    old, new = pipeline_of(tmp_path, "old", OLD), pipeline_of(tmp_path, "new", NEW)
    source = write_documents(tmp_path, TEXTS)
    link(source, old, tmp_path / "linked")
    full = link(source, new, tmp_path / "full")
    plan_relink(tmp_path / "linked", new, tmp_path / "again")
    (tmp_path / "linked/shards/000000.parquet").write_bytes(b"PAR1")
    ledger = run_batch(tmp_path / "again", engine=InlineEngine())
    assert ledger.receipts == full.receipts


def test_documents_with_problems(tmp_path: Path) -> None:
    old, new = pipeline_of(tmp_path, "old", OLD), pipeline_of(tmp_path, "new", NEW)
    source = tmp_path / "notes.jsonl"
    lines = [json.dumps({"id": each, "text": text}) for each, text in TEXTS.items()]
    source.write_text("\n".join([lines[0], "{", *lines[1:], '{"id": "no text"}']) + "\n")
    link(source, old, tmp_path / "linked")
    full = link(source, new, tmp_path / "full")
    plan_relink(tmp_path / "linked", new, tmp_path / "again")
    ledger = run_batch(tmp_path / "again", engine=InlineEngine())
    assert ledger.counts()["reused"] == 3
    assert ledger.receipts[0].digest == full.receipts[0].digest
    assert ledger.counts()["problems"] == full.counts()["problems"]


def test_changed_input_is_refused(tmp_path: Path) -> None:
    old, new = pipeline_of(tmp_path, "old", OLD), pipeline_of(tmp_path, "new", NEW)
    source = write_documents(tmp_path, TEXTS)
    link(source, old, tmp_path / "linked")
    plan_relink(tmp_path / "linked", new, tmp_path / "again")
    write_documents(tmp_path, TEXTS | {"kept": TEXTS["kept"].replace("Cough", "Rough")})
    ledger = run_batch(tmp_path / "again", engine=InlineEngine())
    assert [each.code for each in ledger.quarantined.values()] == ["batch-input-changed"]


def test_output_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    old = pipeline_of(tmp_path, "old", OLD)
    link(write_documents(tmp_path, TEXTS), old, tmp_path / "linked")
    with pytest.raises(ConfigError, match="earlier run"):
        plan_relink(tmp_path / "linked", old, tmp_path / "linked")


def test_changed_names(tmp_path: Path) -> None:
    old, new = (load(pipeline_of(tmp_path, *each)) for each in (("old", OLD), ("new", NEW)))
    changed = ChangedNames.between(old, new)
    assert dict(changed.names) == {
        "chest pain": None,
        "cp": frozenset(),  # too short to be a mention, but it may stand for a long form
        "heart attack": None,
        "myocardial infarction": None,
        "pyrexia": None,
        "tumour": None,
    }
    assert changed.find_documents([Document("1", "T\u0301umour"), Document("2", "")]) == [True, False]
