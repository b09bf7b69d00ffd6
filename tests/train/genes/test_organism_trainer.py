"""Tests of training and using the organism linker."""

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
from onym.methods import OrganismsLinker, linker_config, open_linker
from onym.methods.genes.taxon_model import TREES, open_organism_model
from onym.pipeline import Pipeline
from onym.train.configs import OrganismsTrainingConfig
from onym.train.run import train
from onym.types import Document, Mention
from tests.methods.genes.made_organisms import build_organisms, write_organism_corpus
from tests.pipeline.calibrated import fit_calibration
from tests.support.linking import link_with

SMALL = {"iterations": 15, "min_samples": 2, "learning_rate": 0.3, "feature_share": 1.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a knowledge base, a dataset and a trained model."""
    made = tmp_path_factory.mktemp("organism-linker")
    build_organisms(made)
    prepare_own("mine", [write_organism_corpus(made / "mine.pubtator")], made / "mine", shares=(0.8, 0.1, 0.1))
    train(config(made), made / "model")
    return made


def config(folder: Path, **data: Any) -> OrganismsTrainingConfig:
    values = {"datasets": [str(folder / "mine")], "kb": str(folder / "kb")} | data
    return OrganismsTrainingConfig.of({"data": values, "trees": SMALL, "folds": 2})


def linker(folder: Path) -> OrganismsLinker:
    opened = open_linker(linker_config("organisms", model=str(folder / "model")), KnowledgeBase.open(folder / "kb"))
    assert isinstance(opened, OrganismsLinker)
    return opened


def document(text: str, surface: str, kind: str) -> Document:
    start = text.index(surface)
    return Document("new", text, (Mention(start, start + len(surface), surface, (), kind),))


@pytest.mark.parametrize(
    ("surface", "kind", "concept"),
    [
        ("E. coli", "Species", "ncbitaxon:562"),
        ("wheat", "Species", "ncbitaxon:4565"),
        ("HEK 293", "CellLine", "cellosaurus:CVCL_0045"),
        ("HeLa cells", "Cell line", "cellosaurus:CVCL_0030"),
    ],
)
def test_links_species_and_cell_lines(folder: Path, surface: str, kind: str, concept: str) -> None:
    [linked] = link_with(linker(folder), [document(f"We grew {surface} here.", surface, kind)])
    assert linked.links[0].concept_id == concept


def test_other_mentions_have_no_candidates(folder: Path) -> None:
    [linked] = link_with(linker(folder), [document("We saw fever.", "fever", "Disease")])
    assert not linked.problems
    assert linked.links[0].concept_id is None


def test_concept_filters_apply(folder: Path) -> None:
    opened = linker(folder)
    only = concepts_with_ids(opened.kb, ["ncbitaxon:5762"])
    [linked] = link_with(opened, [document("We grew E. coli.", "E. coli", "Species")], only=only)
    assert [each.concept_id for each in linked.links[0].candidates] == ["ncbitaxon:5762"]


def test_explains_its_answers(folder: Path) -> None:
    explained = Pipeline(linker(folder)).explain(document("We grew E. coli.", "E. coli", "Species"))
    assert "annotated" in "\n".join(explained.lines())


def test_explains_a_document_without_mentions(folder: Path) -> None:
    explained = Pipeline(linker(folder)).explain(Document("1", "Nothing here."))
    assert (list(explained), explained.note != "") == ([], True)


def test_the_calibration_of_a_pipeline_replaces_the_confidence(folder: Path) -> None:
    doc, opened = document("We grew wheat.", "wheat", "Species"), linker(folder)
    own, fitted = (Pipeline(opened, calibration=each).link(doc) for each in (None, fit_calibration()))
    assert own.links[0].confidence == opened.model.confidence(own.links[0].candidates[0].score)
    assert fitted.links[0].confidence not in (None, own.links[0].confidence)


def test_writes_a_record_and_a_card(folder: Path) -> None:
    record = json.loads((folder / "model" / "training.json").read_bytes())
    assert record["metrics"]["cross_validation"]["mine"]["strict_r1"] > 90
    assert "--linker organisms" in (folder / "model" / "README.md").read_text()


def test_same_configuration_gives_same_trees(folder: Path) -> None:
    train(config(folder), folder / "again")
    one, other = (open_organism_model(folder / name) for name in ("model", "again"))
    assert all(np.array_equal(one.trees.columns[name], other.trees.columns[name]) for name in one.trees.columns)


def test_refuses_corpora_without_organisms(folder: Path) -> None:
    with pytest.raises(InputError, match="training-empty"):
        train(config(folder, types=["Disease"]), folder / "none")


def test_refuses_a_knowledge_base_without_organisms(folder: Path, kb_folder: Path) -> None:
    with pytest.raises(ConfigError, match="organisms-missing"):
        open_linker(linker_config("organisms", model=str(folder / "model")), KnowledgeBase.open(kb_folder))


def test_damaged_models_are_refused(folder: Path, tmp_path: Path) -> None:
    train(config(folder), tmp_path / "model")
    [column] = (tmp_path / "model" / TREES).rglob("threshold.npy")
    column.write_bytes(column.read_bytes()[:-8])
    with pytest.raises(IntegrityError):
        open_organism_model(tmp_path / "model", verify="full")


def test_models_with_other_features_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.methods.genes.taxon_model.TAXON_NAMES", ("other",))
    with pytest.raises(IntegrityError, match="another version"):
        open_organism_model(folder / "model")
