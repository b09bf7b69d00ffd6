"""Tests of the whole build: filters, counts of dropped rows, and reproducible bytes."""

from __future__ import annotations

import filecmp
from pathlib import Path

import pytest

from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.store.files.source import InputFile, Source
from onym.types import NameKind
from tests.kb.conftest import Builder

UMLS = {
    "MRCONSO.RRF": (
        "C0000001|ENG|P|L1|PF|S1|Y|A1||||MSH|MH|D1|Aspirin|0|N||\n"
        'C0000001|ENG|S|L2|VO|S2|N|A2||||RXNORM|IN|1|acetylsalicylic "acid|0|N||\n'
        "C0000001|SPA|S|L3|VO|S3|N|A3||||MSHSPA|MH|D1|aspirina|0|N||\n"
        "C0000001|ENG|S|L4|VO|S4|N|A4||||MSH|ET|D1|old aspirin|0|O||\n"
        "C0000002|ENG|P|L5|PF|S5|Y|A5||||RXNORM|BN|2|Bayer Aspirin|0|N||\n"
    ),
    "MRSTY.RRF": "C0000001|T121|A1|Pharmacologic Substance|AT1||\nC0000002|T200|A1|Clinical Drug|AT2||\n",
    "MRDEF.RRF": "C0000001|A1|AT1||MSH|The prototypical analgesic.|N||\n",
    "MRREL.RRF": "C0000002|A5|CUI|RO|C0000001|A1|CUI|has_tradename|R1||RXNORM|RXNORM|||N||\n",
    "MRCUI.RRF": "C0000009|2000AA|SY|||C0000001|Y|\nC0000008|2000AA|DEL||||Y|\n",
}


@pytest.fixture
def umls(tmp_path: Path) -> Path:
    folder = tmp_path / "META"
    folder.mkdir()
    for name, text in UMLS.items():
        (folder / name).write_text(text)
    return folder


def test_builds_concepts_from_umls_files(umls: Path, tmp_path: Path) -> None:
    build_kb(Recipe.of({"sources": [{"path": str(umls)}]}), tmp_path / "kb")
    kb = KnowledgeBase.open(tmp_path / "kb")
    aspirin = kb["C0000001"]
    assert aspirin.names == ("aspirin", "acetylsalicylic acid")
    assert aspirin.terms[1].form == 'acetylsalicylic "acid'
    assert aspirin.terms[1].sources == ("RXNORM",)
    assert aspirin.types == ("T121",)
    assert aspirin.definitions == ("The prototypical analgesic.",)
    assert kb["umls:C0000009"].id == "umls:C0000001"
    assert "umls:C0000008" not in kb
    dropped = kb.report()["dropped"]
    assert dropped == {"kind: suppressed": 1, "kind: tradename": 1, "language": 1}
    assert kb.manifest.counts["rows"] == 5 + 1 + 2 + 1 + 2
    assert [entry.name for entry in kb.manifest.inputs] == sorted(f"META/{name}" for name in UMLS)


def test_trade_names_and_other_languages_are_optional(umls: Path, tmp_path: Path) -> None:
    recipe = Recipe.of({"sources": [{"path": str(umls)}], "drop_kinds": ["suppressed"], "languages": []})
    build_kb(recipe, tmp_path / "kb")
    names = KnowledgeBase.open(tmp_path / "kb")["C0000001"].terms
    assert [(term.text, term.kind, term.language) for term in names] == [
        ("aspirin", NameKind.PREFERRED, "en"),
        ("acetylsalicylic acid", NameKind.EXACT, "en"),
        ("aspirina", NameKind.EXACT, "es"),
        ("bayer aspirin", NameKind.TRADENAME, "en"),
    ]


@pytest.mark.parametrize(
    ("option", "left"),
    [
        ({"semantic_types": ["T200"]}, ["umls:C0000002"]),
        ({"vocabularies": ["MSH"]}, ["umls:C0000001"]),
        ({}, ["umls:C0000001", "umls:C0000002"]),
    ],
)
def test_filters_apply_before_anything_is_written(
    umls: Path, tmp_path: Path, option: dict[str, object], left: list[str]
) -> None:
    build_kb(Recipe.of({"sources": [{"path": str(umls)}], **option}), tmp_path / "kb")
    kb = KnowledgeBase.open(tmp_path / "kb")
    assert [kb.concept_ids[i] for i in range(len(kb))] == left
    used = {name for concept in kb for name in concept.names}
    assert used == {kb.names[i] for i in range(len(kb.names))}


def test_filters_that_drop_all_names_raise_kb_empty(build: Builder) -> None:
    with pytest.raises(InputError, match="kb-empty"):
        build("id\tname\na:1\tfever\n", semantic_types=["T999"])


def test_builds_are_reproducible(umls: Path, tmp_path: Path) -> None:
    recipe = Recipe.of({"sources": [{"path": str(umls)}]})
    build_kb(recipe, tmp_path / "one")
    build_kb(recipe, tmp_path / "two")
    files = [str(p.relative_to(tmp_path / "one")) for p in (tmp_path / "one").rglob("*") if p.is_file()]
    assert len(files) > 20
    assert filecmp.cmpfiles(tmp_path / "one", tmp_path / "two", files, shallow=False)[1:] == ([], [])


def test_no_absolute_path_enters_the_artefact(umls: Path, tmp_path: Path) -> None:
    manifest = build_kb(Recipe.of({"sources": [{"path": str(umls)}]}), tmp_path / "kb")
    assert str(tmp_path) not in manifest.to_bytes().decode()


def test_a_failed_build_keeps_the_previous_one(build: Builder, tmp_path: Path) -> None:
    before = build("id\tname\na:1\tfever\n")
    with pytest.raises(InputError):
        build("id\tname\na:1\n")
    assert KnowledgeBase.open(tmp_path / "kb").digest == before.digest
    assert not list((tmp_path / "kb").glob(".stage-*"))


def test_a_folder_with_other_files_is_not_overwritten(build: Builder, tmp_path: Path) -> None:
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "thesis.txt").write_text("mine")
    with pytest.raises(ConfigError, match="output-exists"):
        build("id\tname\na:1\tfever\n")


def test_unusable_names_are_dropped_and_counted(build: Builder) -> None:
    kb = build(f"id\tname\na:1\tfever\na:1\t--\na:2\t{'x' * 2000}\na:1\tFever!\n")
    assert kb.report()["dropped"] == {"name empty": 1, "name too long": 1, "same name of the same concept": 1}
    assert len(kb) == 1


def test_a_replacement_table_folds_a_concept_into_its_successor(build: Builder, tmp_path: Path) -> None:
    (tmp_path / "old-new.tsv").write_text("old\tnew\na:1\ta:2\n")
    kb = build("id\tname\na:1\tpyrexia\na:2\tfever\n", replacements="old-new.tsv")
    assert kb["a:1"].id == "a:2"
    assert set(kb["a:2"].names) == {"pyrexia", "fever"}
    assert kb.manifest.inputs[-1].name == "old-new.tsv"


@pytest.mark.real_data
def test_builds_mesh_samples(real_data: Path, tmp_path: Path) -> None:
    recipe = Recipe.of({"sources": [{"path": "mesh/meshrdf_desc-samples.xml"}, {"path": "mesh/meshrdf_supp-samples.xml"}]})
    build_kb(recipe, tmp_path / "kb", root=real_data)
    kb = KnowledgeBase.open(tmp_path / "kb")
    assert kb["D000001"].preferred_name == "Calcimycin"
    assert kb["C025735"].preferred_name == "Aeron"


def test_a_source_passed_in_is_not_opened(tmp_path: Path) -> None:
    file = InputFile.from_bytes("part.tsv", b"id\tname\nmesh:D005334\tFever\n")
    recipe = Recipe.of({"sources": [{"path": "part.tsv"}]})
    with pytest.raises(InputError, match="input-missing"):
        build_kb(recipe, tmp_path / "kb", root=tmp_path)
    manifest = build_kb(recipe, tmp_path / "kb", root=tmp_path, sources={"part.tsv": Source.of_files("part.tsv", [file])})
    assert KnowledgeBase.open(tmp_path / "kb").find("fever") == 0
    assert [(entry.name, entry.sha256) for entry in manifest.inputs] == [("part.tsv", file.digest())]


def test_a_recipe_without_newer_keys_builds_the_same_bytes_as_before(build: Builder) -> None:
    mesh = "id\tname\tsynonyms\ttypes\txrefs\nmesh:D1\tNeoplasms\tCancer|Tumor\tC04\t\nmesh:D2\tFever\tPyrexia\tC23\tomim:1\n"
    mondo = "id\tname\tsynonyms\txrefs\nmondo:1\tcancer\t\tmesh:D1\nmondo:2\tneoplasm\tgrowth\tmesh:D1\n"
    mondo += "mondo:3\thyperthermia\t\tmesh:D2\n"
    assert build(mesh, mondo).digest == "b5d29bbe2e06c236"
