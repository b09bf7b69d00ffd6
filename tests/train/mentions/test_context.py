"""What the training of a classifier opens."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.train.mentions.context import MentionsContext
from tests.train.mentions.made import config


def test_what_may_not_be_passed_on_is_refused(kb_folder: Path) -> None:
    with pytest.raises(ConfigError, match="dataset-not-shippable"):
        _ = MentionsContext(config(Path("hpo-gsc"), kb_folder)).datasets


def test_a_dictionary_that_has_a_classifier_is_refused(ambiguous: Path, kb_folder: Path) -> None:
    context = MentionsContext(config(ambiguous, kb_folder, dictionary={"classifier": "c"}))
    with pytest.raises(ConfigError, match="has a classifier already"):
        _ = context.dictionary


def test_only_some_types_are_looked_for(ambiguous: Path, kb_folder: Path) -> None:
    context = MentionsContext(config(ambiguous, kb_folder, data={"only": ["C14"]}))
    assert context.annotated == {"ncbi-disease": frozenset()}
