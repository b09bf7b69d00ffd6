"""Tests of training and using the gene linker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onym.datasets.own import prepare_own
from onym.errors import ConfigError, InputError, IntegrityError
from onym.kb import KnowledgeBase
from onym.kb.ranking import concepts_with_ids
from onym.methods import GenesLinker, linker_config, open_linker
from onym.methods.genes.model import TREES, open_gene_model
from onym.pipeline import Pipeline
from onym.text.queries import queries_of
from onym.train.configs import GenesTrainingConfig
from onym.train.run import train
from onym.types import Document, Mention
from tests.methods.genes.made import build_genes, write_corpus
from tests.pipeline.calibrated import fit_calibration
from tests.support.linking import link_with

TNF, MOUSE_TNF = "ncbigene:7124", "ncbigene:21926"
SMALL = {"iterations": 15, "min_samples": 2, "learning_rate": 0.3, "feature_share": 1.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a knowledge base, a dataset and a trained model."""
    made = tmp_path_factory.mktemp("gene-linker")
    build_genes(made)
    corpus = write_corpus(made / "mine.pubtator")
    prepare_own("mine", [corpus], made / "mine", shares=(0.8, 0.1, 0.1))
    train(config(made), made / "model")
    return made


def config(folder: Path, **data: Any) -> GenesTrainingConfig:
    values = {"datasets": [str(folder / "mine")], "kb": str(folder / "kb")} | data
    return GenesTrainingConfig.of({"data": values, "trees": SMALL, "species_trees": SMALL, "folds": 2})


def linker(folder: Path, **options: str) -> GenesLinker:
    opened = open_linker(linker_config("genes", model=str(folder / "model"), **options), KnowledgeBase.open(folder / "kb"))
    assert isinstance(opened, GenesLinker)
    return opened


def document(text: str, surface: str = "TNF") -> Document:
    start = text.index(surface)
    return Document("new", text, (Mention(start, start + len(surface), surface, (), "Gene"),))


def link(opened: GenesLinker, text: str, surface: str = "TNF") -> list[str]:
    [linked] = link_with(opened, [document(text, surface)])
    assert not linked.problems
    return [each.concept_id for each in linked.links[0].candidates]


@pytest.mark.parametrize(("species", "gene"), [("human", TNF), ("mouse", MOUSE_TNF)])
def test_the_species_in_the_text_decides(folder: Path, species: str, gene: str) -> None:
    assert link(linker(folder), f"A new report. We studied TNF in {species} cells.")[0] == gene


def test_species_are_probabilities(folder: Path) -> None:
    [found] = linker(folder).species_of(document("A new report. We studied TNF in mouse cells."))
    assert sum(found.values()) == pytest.approx(1)
    assert max(found, key=lambda one: found[one]) == "ncbitaxon:10090"


def test_only_the_species_of_the_option_are_candidates(folder: Path) -> None:
    assert link(linker(folder, species="human"), "We studied TNF in mouse cells.") == [TNF]
    assert len(link(linker(folder, species="human,10090"), "We studied TNF in mouse cells.")) == 2


def test_the_default_species_counts_where_no_organism_is_named(folder: Path) -> None:
    opened = linker(folder, default_species="mouse")
    assert link(opened, "We studied TNF.")[0] == MOUSE_TNF
    assert link(opened, "A new report. We studied TNF in human cells.")[0] == TNF


def test_unknown_species_are_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="species-unknown"):
        linker(folder, species="dragon")


def test_concept_filters_apply(folder: Path) -> None:
    opened = linker(folder)
    only = concepts_with_ids(opened.kb, [MOUSE_TNF])
    [linked] = link_with(opened, [document("We studied TNF in human cells.")], only=only)
    assert [each.concept_id for each in linked.links[0].candidates] == [MOUSE_TNF]


def test_a_mention_without_candidates_is_left_unlinked(folder: Path) -> None:
    assert link(linker(folder), "We studied qqqzz in human cells.", "qqqzz") == []


def test_explains_the_species(folder: Path) -> None:
    explained = Pipeline(linker(folder)).explain(document("A new report. We studied TNF in mouse cells."))
    lines = "\n".join(explained.lines())
    assert "the species is mouse (probability" in lines
    assert "the sentence names mouse" in lines


def test_effects_compare_with_the_runner_up(folder: Path) -> None:
    doc = document("A new report. We studied TNF in mouse cells.")
    opened = linker(folder)
    [linked] = link_with(opened, [doc])
    [evidence] = opened.evidence(queries_of(doc), linked.links)
    assert "species_probability" in {each.feature for each in evidence.effects}


def test_writes_a_record_and_a_card(folder: Path) -> None:
    record = json.loads((folder / "model" / "training.json").read_bytes())
    figures = record["metrics"]["cross_validation"]["mine"]
    assert figures["strict_r1"] > 90
    assert figures["species"] > 90
    assert "--linker genes" in (folder / "model" / "README.md").read_text()


def test_same_configuration_gives_same_trees(folder: Path) -> None:
    train(config(folder), folder / "again")
    one, other = (open_gene_model(folder / name) for name in ("model", "again"))
    assert all(np.array_equal(one.genes.columns[name], other.genes.columns[name]) for name in one.genes.columns)


def test_explains_a_document_without_mentions(folder: Path) -> None:
    explained = Pipeline(linker(folder)).explain(Document("1", "Nothing here."))
    assert (list(explained), explained.note != "") == ([], True)


def test_the_calibration_of_a_pipeline_replaces_the_confidence(folder: Path) -> None:
    doc, opened = document("We studied TNF in mouse cells."), linker(folder)
    own, fitted = (Pipeline(opened, calibration=each).link(doc) for each in (None, fit_calibration()))
    assert own.links[0].confidence == opened.model.confidence(own.links[0].candidates[0].score)
    assert fitted.links[0].confidence not in (None, own.links[0].confidence)


def test_refuses_corpora_without_genes(folder: Path) -> None:
    with pytest.raises(InputError, match="training-empty"):
        train(config(folder, types=["Disease"]), folder / "none")


def test_refuses_a_knowledge_base_without_species(folder: Path, kb_folder: Path) -> None:
    with pytest.raises(ConfigError, match="genes-without-species"):
        open_linker(linker_config("genes", model=str(folder / "model")), KnowledgeBase.open(kb_folder))


def test_damaged_models_are_refused(folder: Path, tmp_path: Path) -> None:
    train(config(folder), tmp_path / "model")
    [column] = (tmp_path / "model" / TREES).rglob("genes.threshold.npy")
    column.write_bytes(column.read_bytes()[:-8])
    with pytest.raises(IntegrityError):
        open_gene_model(tmp_path / "model", verify="full")
