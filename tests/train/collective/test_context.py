"""What the recipe for a model that reads documents opens."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.models.collective import CollectiveSettings
from onym.train.collective.context import CollectiveContext
from tests.train.tiny import collective_config


@pytest.fixture
def context(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> CollectiveContext:
    return CollectiveContext(collective_config(encoder, corpus, kb_folder, dev={"mentions": 2, "names": 1}), tmp_path)


def test_the_files_of_a_model(context: CollectiveContext) -> None:
    context.tuned["threshold"] = 0.35
    files = context.files
    assert set(files) == {
        "tokenizer.json",
        "collective.json",
        "heads.safetensors",
        "names/tokenizer.json",
        "names/encoder.json",
    }
    settings = CollectiveSettings.model_validate_json(files["collective.json"])
    assert (settings.threshold, settings.detect, settings.window, settings.dim, settings.links) == (0.35, "spans", 24, 16, True)


def test_mentions_whose_concepts_are_known(context: CollectiveContext) -> None:
    assert len(context.linkable) == len(context.queries) == 12
    for (_, mention), queries in zip(context.linkable, context.queries, strict=True):
        concepts = [context.kb.concept_ids[concept] for concept in queries.concepts]
        assert set(mention.concept_ids) <= set(concepts)


def test_dev_has_about_as_many_mentions_as_are_wished_for(context: CollectiveContext) -> None:
    assert context.dev is not None
    assert sum(len(doc.mentions) for doc in context.dev.documents) == 2
    assert context.dev.names is not None


def test_names_may_have_an_encoder_of_their_own(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    config = collective_config(encoder, corpus, kb_folder, start={"names": str(encoder), "freeze_names": True})
    context = CollectiveContext(config, tmp_path)
    assert context.model.names is not context.model.body
    assert not any(each.requires_grad for each in context.model.names.parameters())
    assert context.dev is None
