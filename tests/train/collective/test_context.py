"""What the recipe for a model that reads documents opens."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.encoders.collective import CollectiveSettings
from onym.train.collective.context import CollectiveSetting
from tests.train.tiny import collective_config


@pytest.fixture
def setting(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> CollectiveSetting:
    return CollectiveSetting(collective_config(encoder, corpus, kb_folder, dev={"mentions": 2, "names": 1}), tmp_path)


def test_the_files_of_a_model(setting: CollectiveSetting) -> None:
    setting.tuned["threshold"] = 0.35
    files = setting.files
    assert set(files) == {
        "tokenizer.json",
        "collective.json",
        "heads.safetensors",
        "names/tokenizer.json",
        "names/encoder.json",
    }
    told = CollectiveSettings.model_validate_json(files["collective.json"])
    assert (told.threshold, told.detect, told.window, told.wide, told.links) == (0.35, "spans", 24, 16, True)


def test_mentions_whose_concepts_are_known(setting: CollectiveSetting) -> None:
    assert len(setting.wanted) == len(setting.asked) == 12
    for (_, mention), asked in zip(setting.wanted, setting.asked, strict=True):
        concepts = [setting.kb.concept_ids[concept] for concept in asked.concepts]
        assert set(mention.concept_ids) <= set(concepts)


def test_dev_has_about_as_many_mentions_as_are_wished_for(setting: CollectiveSetting) -> None:
    assert setting.dev is not None
    assert sum(len(doc.mentions) for doc in setting.dev.documents) == 2
    assert setting.dev.names is not None


def test_names_may_have_an_encoder_of_their_own(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    config = collective_config(encoder, corpus, kb_folder, start={"names": str(encoder), "freeze_names": True})
    setting = CollectiveSetting(config, tmp_path)
    assert setting.model.names is not setting.model.body
    assert not any(each.requires_grad for each in setting.model.names.parameters())
    assert setting.dev is None
