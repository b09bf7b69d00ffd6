"""Tests of reading configurations: validation, presets and overrides; presets match the papers' tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onym.datasets.catalogue import get
from onym.errors import ConfigError, InputError
from onym.train.configs import (
    AnyConfig,
    DetectorTrainingConfig,
    EncoderStage,
    EncoderTrainingConfig,
    GenerativeTrainingConfig,
    GenesTrainingConfig,
    MentionsTrainingConfig,
    OrganismsTrainingConfig,
    RerankTrainingConfig,
    StudentTrainingConfig,
    TrainingStage,
)
from onym.train.stages import find_preset, preset_text, presets, read_config, require_new, runs_folder

# GenBioEL, Table 11: training steps, learning rate, weight decay, batch size, Adam's epsilon and betas, warmup steps,
# attention dropout, clipping, label smoothing.
_ADAM, _REST = (1e-8, (0.9, 0.999)), (0.1, 0.1, 0.1)
TABLE_11: dict[str, tuple[Any, ...]] = {
    "genbioel-pretrain": (80_000, 4e-5, 0.01, 384, *_ADAM, 1_600, *_REST),
    "genbioel-bc5cdr": (20_000, 1e-5, 0.01, 8, *_ADAM, 500, *_REST),
    "genbioel-cometa": (40_000, 1e-5, 0.01, 8, *_ADAM, 500, *_REST),
    "genbioel-askapatient": (30_000, 5e-6, 0.01, 8, *_ADAM, 0, *_REST),
    "genbioel-ncbi": (20_000, 3e-7, 0.01, 8, *_ADAM, 0, *_REST),
}
# ANGEL, Table B, positive-only training: the same values in the same order.
TABLE_B_POSITIVE: dict[str, tuple[Any, ...]] = {
    "angel-pretrain-positive": (80_000, 4e-5, 0.01, 384, *_ADAM, 1_600, *_REST),
    "angel-ncbi-positive": (20_000, 3e-7, 0.01, 16, *_ADAM, 0, *_REST),
    "angel-bc5cdr-positive": (30_000, 5e-6, 0.01, 16, *_ADAM, 500, *_REST),
    "angel-cometa-positive": (40_000, 2e-5, 0.01, 16, *_ADAM, 1_000, *_REST),
    "angel-askapatient-positive": (30_000, 5e-6, 0.01, 16, *_ADAM, 0, *_REST),
    "angel-medmentions-positive": (40_000, 3e-5, 0.01, 16, *_ADAM, 1_000, *_REST),
}
# ANGEL, Table B, negative-aware training: epochs, learning rate, beta of DPO, weight decay, batch size, warmup steps.
TABLE_B_NEGATIVE: dict[str, tuple[Any, ...]] = {
    "angel-pretrain-negative": (5, 1e-5, 0.1, 0.01, 64, 1_000),
    "angel-ncbi-negative": (1, 1e-5, 0.1, 0.01, 16, 0),
    "angel-bc5cdr-negative": (1, 1e-6, 0.1, 0.01, 16, 0),
    "angel-cometa-negative": (1, 5e-6, 0.1, 0.01, 32, 0),
    "angel-askapatient-negative": (1, 5e-6, 0.1, 0.01, 8, 0),
    "angel-medmentions-negative": (1, 5e-6, 0.1, 0.01, 16, 0),
}


# SapBERT, appendix A.3, and the command that its authors released: epochs, batch, learning rate, weight decay, length, pooling,
# the miner's margin, alpha, beta and base of the loss, and the maximum number of pairs per concept.
SAPBERT: dict[str, tuple[Any, ...]] = {"paper-sapbert": (1, 512, 2e-5, 0.01, 25, "cls", 0.2, 1.0, 60.0, 0.5, 50)}


_OWN = RerankTrainingConfig | MentionsTrainingConfig | StudentTrainingConfig | GenesTrainingConfig | OrganismsTrainingConfig


def preset_config(name: str) -> AnyConfig:
    stage: TrainingStage = find_preset(name)["stage"]
    return read_config(
        stage, None, name, [] if stage in ("rerank", "mentions", "student", "genes", "organisms") else ["start.model=here"]
    )


def generative_config(name: str) -> GenerativeTrainingConfig:
    config = preset_config(name)
    assert isinstance(config, GenerativeTrainingConfig)
    return config


@pytest.mark.parametrize("name", presets())
def test_each_preset_is_valid(name: str) -> None:
    assert preset_text(name).startswith("# ")
    config = preset_config(name)
    if isinstance(config, DetectorTrainingConfig | _OWN):
        assert [get(dataset).name for dataset in config.data.datasets] == list(config.data.datasets)
        return
    if config.data.dataset:
        assert get(config.data.dataset).name == config.data.dataset


@pytest.mark.parametrize(("name", "row"), [*TABLE_11.items(), *TABLE_B_POSITIVE.items()])
def test_positive_presets_match_the_papers(name: str, row: tuple[Any, ...]) -> None:
    config = generative_config(name)
    optim = config.optim
    assert row == (
        optim.steps, optim.learning_rate, optim.weight_decay, optim.batch_size * optim.gradient_accumulation,
        optim.epsilon, optim.betas, optim.warmup_steps, config.start.attention_dropout, optim.max_grad_norm,
        optim.label_smoothing,
    )  # fmt: skip
    is_angel, is_pretrained = name.startswith("angel"), "pretrain" in name
    assert config.stage == ("pretrain" if is_pretrained else "finetune")
    assert optim.gradient_accumulation == (24 if is_pretrained else 1)
    if is_pretrained:  # ANGEL pairs each name with the most similar one
        assert config.data.mention == ("similar" if is_angel else "random")
    else:  # GenBioEL takes the most similar name, ANGEL the top 3
        assert (config.data.target, config.data.names) == ("similar", 3 if is_angel else 1)


@pytest.mark.parametrize(("name", "row"), TABLE_B_NEGATIVE.items())
def test_negative_presets_match_the_papers(name: str, row: tuple[Any, ...]) -> None:
    config = generative_config(name)
    optim, prefer = config.optim, config.prefer
    found = (
        prefer.epochs,
        optim.learning_rate,
        prefer.beta,
        optim.weight_decay,
        optim.batch_size * optim.gradient_accumulation,
        optim.warmup_steps,
    )
    assert found == row
    assert (config.stage, prefer.loss, prefer.top_k) == ("prefer", "dpo", 5)
    assert prefer.negatives == ("similar" if "pretrain" in name else "predictions")


def test_every_preset_is_checked_against_a_paper() -> None:
    published = {
        name for name in presets() if not name.startswith(("cpu-", "rerank-", "mentions-", "student-", "genes-", "organisms-"))
    }
    assert published == {*TABLE_11, *TABLE_B_POSITIVE, *TABLE_B_NEGATIVE, *SAPBERT}


@pytest.mark.parametrize(("name", "row"), SAPBERT.items())
def test_sapbert_preset_matches_the_paper(name: str, row: tuple[Any, ...]) -> None:
    config = preset_config(name)
    assert isinstance(config, EncoderTrainingConfig)
    optim, start, loss = config.optim, config.start, config.loss
    assert row == (
        optim.epochs, optim.batch_size * optim.gradient_accumulation, optim.learning_rate, optim.weight_decay,
        start.length, start.pooling, loss.margin, loss.alpha, loss.beta, loss.base, config.data.max_pairs,
    )  # fmt: skip
    assert (optim.schedule, optim.warmup_steps, optim.max_grad_norm, start.similarity) == ("constant", 0, 0.0, "dot")


@pytest.mark.parametrize(
    "override",
    ["start.window=64", "start.template=genre", "data.target=similar", "dev.search=beam", "optim.label_smoothing=0.1",
     "prefer.top_k=3", "loss.gamma=1", "data.mix=1.0", "optim.batch_size=1", "start.pooling=max", "dev.names=-1",
     "loss.beta=0"],
)  # fmt: skip
@pytest.mark.parametrize("preset", ["cpu-small-align", "cpu-small-match"])
def test_rejects_keys_of_other_stages_and_invalid_values(preset: str, override: str) -> None:
    stage: EncoderStage = "align" if preset.endswith("align") else "match"
    read_config(stage, None, preset, ["start.model=here"])
    with pytest.raises(ConfigError, match="config-invalid") as caught:
        read_config(stage, None, preset, ["start.model=here", override])
    assert caught.value.what.startswith(override.split("=", maxsplit=1)[0].removesuffix(".top_k"))


def test_overrides_win_over_file_over_preset(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('preset = "genbioel-bc5cdr"\n[start]\nmodel = "m"\n[optim]\nsteps = 7\nbatch_size = 3\n')
    config = read_config(
        "finetune", file, "genbioel-ncbi", ["optim.batch_size=5", "data.kb=some/kb", 'data.exclude_splits=["dev"]']
    )
    assert isinstance(config, GenerativeTrainingConfig)
    assert (config.optim.learning_rate, config.optim.steps, config.optim.batch_size) == (1e-5, 7, 5)
    assert (config.start.model, config.data.kb, config.data.exclude_splits) == ("m", "some/kb", ("dev",))
    assert config.optim.warmup_steps == 500
    file.write_text('[start]\nmodel = "m"\n')
    for preset, rate in (("genbioel-ncbi", 3e-7), ("", 1e-5)):
        plain = read_config("finetune", file, preset)
        assert isinstance(plain, GenerativeTrainingConfig)
        assert plain.optim.learning_rate == rate


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("optim.stepps=3", "optim.stepps"),
        ("start.windows=64", "start.windows"),
        ("loss=dpo", "loss"),
        ("optim.steps=0", "optim.steps"),
        ("optim.schedule=cosign", "optim.schedule"),
        ("start.dropout=1.0", "start.dropout"),
        ("optim=3", "optim"),
        ("optim.epochs=3", "optim.epochs"),
        ("start.pooling=cls", "start.pooling"),
        ("dev.names=3", "dev.names"),
        ("start.model=''", "start.model"),
        ("prefer.top_k=1", "prefer.top_k"),
    ],
)
def test_rejects_unknown_keys_and_invalid_values(override: str, key: str) -> None:
    with pytest.raises(ConfigError, match="config-invalid") as caught:
        read_config("finetune", None, "cpu-small", ["start.model=here", override])
    assert caught.value.what.startswith(f"{key}: ")


@pytest.mark.parametrize("override", ["optim.steps", "=3", "optim.=3", ".steps=3"])
def test_rejects_invalid_overrides(override: str) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        read_config("finetune", None, "cpu-small", ["start.model=here", override])


def test_rejects_configuration_of_another_stage() -> None:
    with pytest.raises(ConfigError, match="onym train prefer"):
        read_config("finetune", None, "angel-ncbi-negative", ["start.model=here"])


def test_rejects_unknown_presets_and_missing_or_invalid_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        find_preset("../cpu-small")
    with pytest.raises(InputError, match="input-missing"):
        read_config("finetune", tmp_path / "none.toml")
    for data in (b"[start", b'[start]\nmodel = "\xff"\n'):
        (tmp_path / "bad.toml").write_bytes(data)
        with pytest.raises(ConfigError, match="config-invalid"):
            read_config("finetune", tmp_path / "bad.toml")


def test_configuration_is_frozen_and_survives_a_round_trip() -> None:
    config = generative_config("cpu-small")
    with pytest.raises(ValueError, match="frozen"):
        config.optim.steps = 3
    assert GenerativeTrainingConfig.of(config.model_dump(mode="json")) == config


def test_runs_folder_is_set_by_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONYM_RUNS", str(tmp_path))
    assert runs_folder() == tmp_path
    monkeypatch.delenv("ONYM_RUNS")
    assert runs_folder().parts[-2:] == ("onym", "runs")


def test_does_not_overwrite_existing_folder(tmp_path: Path) -> None:
    require_new(tmp_path / "new")
    (tmp_path / "link").symlink_to(tmp_path / "new")
    for path, code in ((tmp_path, "output-exists"), (tmp_path / "link", "output-kind"), (Path("/dev/null/x"), "output-failed")):
        with pytest.raises(ConfigError) as caught:
            require_new(path)
        assert caught.value.code == code
