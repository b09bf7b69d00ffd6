"""Tests of training configurations: validation and defaults."""

from __future__ import annotations

from typing import Any

import pytest

from onym.errors import ConfigError
from onym.train.configs import (
    CollectiveTrainingConfig,
    DetectorTrainingConfig,
    EncoderTrainingConfig,
    GenerativeTrainingConfig,
    MentionsTrainingConfig,
    OptimConfig,
    RerankTrainingConfig,
)
from onym.train.stages import read_config, read_values

START = {"model": "m"}


@pytest.mark.parametrize(
    ("key", "value"),
    [("device", "gpu"), ("device", "cuda:-1"), ("precision", "fp16"), ("eval_steps", 0), ("max_grad_norm", -1.0), ("every", 3)],
)
def test_rejects_invalid_values(key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match="config-invalid") as caught:
        OptimConfig.of({key: value})
    assert caught.value.what.startswith(f"{key}: ")


def test_device_and_precision_default_to_auto() -> None:
    optim = OptimConfig()
    assert (optim.device, optim.precision) == ("auto", "auto")


@pytest.mark.parametrize("stage", ["pretrain", "finetune", "prefer"])
def test_generative_stages_have_the_same_keys(stage: str) -> None:
    config = GenerativeTrainingConfig.of({"stage": stage, "start": START})
    assert (config.stage, config.optim.label_smoothing, config.prefer.top_k) == (stage, 0.1, 5)


def test_rejects_another_stage() -> None:
    with pytest.raises(ConfigError, match="stage"):
        GenerativeTrainingConfig.of({"stage": "align", "start": START})


@pytest.mark.parametrize("stage", ["align", "match"])
def test_encoder_stages_have_the_same_keys(stage: str) -> None:
    config = EncoderTrainingConfig.of({"stage": stage, "start": START})
    assert (config.stage, config.optim.batch_size, config.dev.names, config.data.max_pairs) == (stage, 256, 20_000, 50)


def test_rejects_batch_size_of_one_pair() -> None:
    with pytest.raises(ConfigError, match="optim.batch_size"):
        EncoderTrainingConfig.of({"stage": "align", "start": START, "optim": {"batch_size": 1}})


def test_collective_defaults() -> None:
    config = CollectiveTrainingConfig.of({"start": START})
    assert (config.stage, config.optim.batch_size, config.optim.learning_rate, config.dev.names) == (
        "collective",
        8,
        2e-5,
        20_000,
    )
    assert (config.data.hard_negatives, config.data.random_negatives, config.start.max_span_tokens) == (4, 2, 20)


def test_collective_rejects_exclude_splits() -> None:
    with pytest.raises(ConfigError, match="data.exclude_splits"):
        CollectiveTrainingConfig.of({"start": START, "data": {"exclude_splits": ["dev"]}})


@pytest.mark.parametrize("key", ["max_span_tokens", "window"])
def test_rejects_invalid_collective_values(key: str) -> None:
    with pytest.raises(ConfigError, match=f"start.{key}"):
        CollectiveTrainingConfig.of({"start": START | {key: 0}})


def test_detector_requires_datasets() -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        read_config("detect", None, "", ["start.model=m"])


def test_types_can_be_overridden_one_by_one() -> None:
    overrides = ["start.model=m", 'data.datasets=["a"]', "data.types.Modifier=Disease"]
    config = DetectorTrainingConfig.of(read_values("detect", None, "", overrides))
    assert (config.data.types, config.stage) == ({"Modifier": "Disease"}, "detect")


def test_mentions_config_has_dictionary_options() -> None:
    config = MentionsTrainingConfig.of(read_values("mentions", None, "mentions-open", ["dictionary.min_length=4"]))
    assert (config.dictionary.min_length, config.data.types["Modifier"]) == (4, "Disease")


def test_classifier_requires_datasets() -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        read_config("mentions", None, "", ["data.kb=kb"])


def test_preset_excludes_other_test_sets() -> None:
    config = RerankTrainingConfig.of(read_values("rerank", None, "rerank-open", ["data.kb=here"]))
    assert config.data.datasets == ("ncbi-disease", "bc5cdr", "biored")
    assert config.data.exclude == ("nlm-chem", "hpo-gsc")
    assert not config.data.private


@pytest.mark.parametrize(
    "override", ["trees.leaves=3", "trees.iterations=0", "data.datasets=[]", "pool.size=3", "optim.steps=1"]
)
def test_rejects_unknown_reranker_keys(override: str) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        read_config("rerank", None, "rerank-open", [override])
