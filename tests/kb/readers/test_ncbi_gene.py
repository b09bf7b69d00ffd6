"""Tests of reading NCBI Gene: gene_info and gene_history."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase, readers
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.store.files.source import Source
from tests.kb.readers.conftest import facts_of, names_of, rows_of
from tests.support.releases import SAMPLES

(RELEASE,) = SAMPLES["ncbi_gene"]
HUMAN, MOUSE = "ncbigene:900001", "ncbigene:900002"


def test_reads_names() -> None:
    assert names_of(rows_of(RELEASE, "ncbi_gene", species=["9606"])) == [
        (HUMAN, "MUG1", "preferred"),
        ("ncbigene:900003", "NEWENTRY", "suppressed"),
        (HUMAN, "MT-MUG1", "exact"),
        (HUMAN, "made-up gene 1", "exact"),
        (HUMAN, "made up gene 1", "exact"),
        ("ncbigene:900003", "Record to support submission of GeneRIFs", "suppressed"),
        (HUMAN, "GQR", "exact"),
        (HUMAN, "p90", "exact"),
        (HUMAN, "glucoquine receptor", "related"),
        (HUMAN, "hypothetical protein", "suppressed"),
        ("ncbigene:900008", "MUGX", "retired"),
    ]


def test_reads_the_species_and_the_type_of_a_gene() -> None:
    assert facts_of(rows_of(RELEASE, "ncbi_gene"), "semantic_types") == [
        (HUMAN, ["ncbitaxon:9606", "protein-coding"]),
        (MOUSE, ["ncbitaxon:10090", "ncRNA"]),
        ("ncbigene:900003", ["ncbitaxon:9606", "other"]),
    ]


def test_reads_cross_references_once() -> None:
    rows = rows_of(RELEASE, "ncbi_gene")
    assert facts_of(rows, "xrefs") == [(HUMAN, ["omim:900100"]), (HUMAN, ["hgnc:90001"])]


def test_reads_discontinued_genes() -> None:
    rows = [row for row in rows_of(RELEASE, "ncbi_gene") if row.get("kind") == "retired"]
    assert rows == [
        {"concept_id": "ncbigene:900008", "name": "MUGX", "kind": "retired", "successors": [HUMAN], "release": "20250508"},
        {"concept_id": "ncbigene:900009", "name": "Mugy", "kind": "retired", "release": "20240101"},
    ]


def test_only_genes_of_the_chosen_species_are_read() -> None:
    rows = rows_of(RELEASE, "ncbi_gene", species=["10090"])
    assert {row["concept_id"] for row in rows} == {MOUSE, "ncbigene:900009"}


def test_a_file_with_a_comment_and_a_plain_header_is_read() -> None:
    passed_on = {"Made.gene_info": b"# Downloaded in 2026\n" + RELEASE["gene_info"].removeprefix(b"#")}
    rows = rows_of(RELEASE, "ncbi_gene")
    assert rows_of(passed_on, "ncbi_gene") == [row for row in rows if row.get("kind") != "retired"]


def test_a_missing_column_is_rejected() -> None:
    with pytest.raises(InputError) as e:
        rows_of({"gene_info": b"#tax_id\tGeneID\tSymbol\n9606\t1\tA1BG\n"}, "ncbi_gene")
    assert e.value.code == "table-columns"


def test_other_formats_have_no_species_to_choose() -> None:
    with pytest.raises(ConfigError) as e:
        rows_of(SAMPLES["obo"][0], "obo", species=["9606"])
    assert e.value.code == "config-invalid"


def _build(folder: Path, **options: object) -> KnowledgeBase:
    (folder / "gene").mkdir()
    for name, content in RELEASE.items():
        (folder / "gene" / name).write_bytes(content)
    build_kb(Recipe.of({"sources": [{"path": "gene", **options}]}), folder / "kb", root=folder)
    return KnowledgeBase.open(folder / "kb")


def test_a_knowledge_base_knows_the_species_of_a_gene(tmp_path: Path) -> None:
    kb = _build(tmp_path)
    species = {kb.concept_ids[row]: kb.species_of(row) for row in range(len(kb))}
    assert species == {HUMAN: ("ncbitaxon:9606",), MOUSE: ("ncbitaxon:10090",)}
    assert kb.label_of(kb.concept_ids.find(HUMAN)) == ("MUG1", "Gene")
    assert [kb.concept_ids[row] for row in kb.resolve("ncbigene:900008")] == [HUMAN]
    assert kb.resolve("ncbigene:900009").how == "retired"


def test_the_build_counts_rows_of_other_species(tmp_path: Path) -> None:
    kb = _build(tmp_path, species=["10090"])
    assert list(kb.concept_ids) == [MOUSE]
    assert kb.report()["dropped"]["row of another species"] == 3
    assert kb.manifest.config["sources"][0]["species"] == ["10090"]


def test_a_species_is_a_number() -> None:
    with pytest.raises(ConfigError) as e:
        Recipe.of({"sources": [{"path": "gene_info.gz", "species": ["human"]}]})
    assert e.value.code == "config-invalid"


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "genes", "xrefs"), [("Homo_sapiens", 63_354, 98_283), ("Danio_rerio", 43_752, 48_423)])
def test_reads_genuine_files(real_data: Path, name: str, genes: int, xrefs: int) -> None:
    source = Source.open(real_data / "genes" / f"{name}.gene_info.gz")
    assert readers.detect(source) == "ncbi_gene"
    rows = pl.concat([pl.DataFrame(batch) for batch in readers.read(source, "ncbi_gene")])
    assert rows["concept_id"].n_unique() == rows["semantic_types"].drop_nulls().len() == genes
    assert rows.filter(pl.col("kind") == 0).height == genes - 1, "all but the record of genes that Gene does not have"
    assert rows["xrefs"].drop_nulls().len() == xrefs
