"""The configuration of a reranker."""

from __future__ import annotations

import pytest

from onym.errors import ConfigError
from onym.train.stages import read_config


def test_the_preset_excludes_other_test_sets() -> None:
    config = read_config("rerank", None, "rerank-open", ["data.kb=here"])
    assert config.data.datasets == ("ncbi-disease", "bc5cdr", "biored")
    assert config.data.exclude == ("nlm-chem", "hpo-gsc")
    assert not config.data.private


@pytest.mark.parametrize(
    "override", ["trees.leaves=3", "trees.iterations=0", "data.datasets=[]", "pool.size=3", "optim.steps=1"]
)
def test_keys_that_there_are_not_are_refused(override: str) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        read_config("rerank", None, "rerank-open", [override])
