"""Tests of the ids of variants: rs ids beside them, alleles, genes; and of the detector and the linker."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.kb import KnowledgeBase, Recipe, build_kb
from onym.kb.ranking import concepts_of_types
from onym.kb.recipe import SourceConfig
from onym.methods import detector_config, open_detector, open_linker
from onym.methods.variants.naming import add_genes, name_variants
from onym.methods.variants.patterns import find_variants
from onym.pipeline import Pipeline, PipelineOptions
from onym.text.queries import queries_of
from onym.types import Document, Mention
from tests.support.linking import link_with


def detect(text: str, *more: Mention) -> Document:
    found = (Mention(each.start, each.end, text[each.start : each.end], type="Variant") for each in find_variants(text))
    return Document("1", text, tuple(sorted([*found, *more], key=lambda each: each.start)))


def best(doc: Document) -> list[str]:
    return [candidates[0].concept_id if candidates else "" for candidates in name_variants(doc)]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("V600E (rs113488022)", ["dbsnp:rs113488022"] * 2),
        ("rs113488022 (V600E) and V600E", ["dbsnp:rs113488022"] * 3),
        ("c.1799T>A (p.V600E; rs113488022)", ["dbsnp:rs113488022"] * 3),
        ("V600E, found by PCR, and rs113488022", ["hgvs:p.V600E", "dbsnp:rs113488022"]),
        ("rs111, V600E, rs222", ["dbsnp:rs111", "hgvs:p.V600E", "dbsnp:rs222"]),
        ("V600E (rs111) or V600E (rs222)", ["hgvs:p.V600E", "dbsnp:rs111", "hgvs:p.V600E", "dbsnp:rs222"]),
        ("-308G>A (rs1800629); carriers of -308A", ["dbsnp:rs1800629"] * 3),
        ("-308G>A; carriers of -308A", ["hgvs:c.-308G>A"] * 2),
        ("-308G>A and -308G>C; carriers of -308G", ["hgvs:c.-308G>A", "hgvs:c.-308G>C", ""]),
        ("a 32-bp deletion and C>T", ["", ""]),
        ("RS 113 and rs007", ["dbsnp:rs7"]),
    ],
)
def test_ids_of_the_variants_of_a_document(text: str, ids: list[str]) -> None:
    assert best(detect(text)) == ids


def test_mentions_of_other_types_and_other_surfaces_have_no_id() -> None:
    text = "V600E of fever"
    doc = Document("1", text, (Mention(0, 5, "V600E", type="Gene"), Mention(9, 14, "fever", type="Variant")))
    assert best(doc) == ["", ""]


@pytest.fixture(scope="module")
def genes(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder = tmp_path_factory.mktemp("genes")
    (folder / "genes.tsv").write_text("id\tname\tsynonym\nncbigene:673\tBRAF\t\nncbigene:1956\tEGFR\t\n")
    build_kb(Recipe(sources=(SourceConfig(path="genes.tsv", name="genes"),)), folder / "kb", root=folder)
    return KnowledgeBase.open(folder / "kb")


TEXT = "BRAF V600E and, quite far from it, EGFR L858R"


def gene_mentions(*, annotated: bool) -> tuple[Mention, Mention]:
    ids: tuple[tuple[str, ...], ...] = (("ncbigene:673",), ("ncbigene:1956",)) if annotated else ((), ())
    return Mention(0, 4, "BRAF", ids[0], "Gene"), Mention(35, 39, "EGFR", ids[1], "Gene")


def test_the_nearest_annotated_gene_is_in_the_id(genes: KnowledgeBase) -> None:
    [linked] = link_with(open_linker("variants", genes), [detect(TEXT, *gene_mentions(annotated=True))])
    assert [link.concept_id for link in linked.links] == [None, "hgvs:BRAF:p.V600E", None, "hgvs:EGFR:p.L858R"]


def test_only_the_mentions_that_are_asked_for_count(genes: KnowledgeBase) -> None:
    linker, queries = open_linker("variants", genes), queries_of(detect(TEXT, *gene_mentions(annotated=True)))
    variants = [query for query in queries if query.mention.type == "Variant"]
    whole, alone = linker.rank(queries), linker.rank(variants)
    assert [each.candidates[0].concept_id for each in whole if each.candidates] == ["hgvs:BRAF:p.V600E", "hgvs:EGFR:p.L858R"]
    assert [each.candidates[0].concept_id for each in alone] == ["hgvs:p.V600E", "hgvs:p.L858R"]


def test_the_nearest_linked_gene_is_added(genes: KnowledgeBase) -> None:
    queries = queries_of(detect(TEXT, *gene_mentions(annotated=False)))
    variants, others = (open_linker(name, genes).rank(queries) for name in ("variants", "exact"))
    both = [one if one.candidates else other for one, other in zip(variants, others, strict=True)]
    assert [ranked.candidates[0].concept_id for ranked in add_genes(queries, both, genes)] == [
        "ncbigene:673", "hgvs:BRAF:p.V600E", "ncbigene:1956", "hgvs:EGFR:p.L858R",
    ]  # fmt: skip
    assert add_genes(queries, variants, genes) == variants


def test_the_detector_finds_changes_without_a_position_unless_told_not_to(tiny_kb: Path) -> None:
    kb, doc = KnowledgeBase.open(tiny_kb), Document("1", "V600E and C>T")
    for unplaced, surfaces in ((True, ["V600E", "C>T"]), (False, ["V600E"])):
        [found] = open_detector(detector_config("variants", unplaced=unplaced), kb).detect([doc])
        assert [mention.surface for mention in found.document.mentions] == surfaces
        assert {mention.type for mention in found.document.mentions} == {"Variant"}


def test_a_filter_of_concepts_leaves_variants_out(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    linker, only = open_linker("variants", kb), concepts_of_types(kb, ["C14"])
    for restrict in (False, True):
        linked = Pipeline(linker, options=PipelineOptions(restrict=restrict), only=only).link(detect("V600E"))
        assert linked.links[0].concept_id is None


def test_a_pipeline_links_and_explains_variants(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    pipeline = Pipeline(open_linker("variants", kb), open_detector("variants", kb))
    linked = pipeline.link("fever, V600E (rs113488022)")
    assert [link.obo_id for link in linked.links] == ["DBSNP:rs113488022"] * 2
    assert [link.type for link in linked.links] == ["Variant"] * 2
    assert pipeline.explain("fever, V600E")[0].lines()[0] == "concept: HGVS:p.V600E p.V600E"
