"""Learning from preferences, in rounds: stopped anywhere, it ends as if it had not been."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from onym.errors import ConfigError, InputError
from onym.train.generative import prefer as prefer_module
from onym.train.generative.config import GenerativeTrainingConfig
from onym.train.run import train
from onym.train.samples.pairs import read_pairs
from tests.train.made import open_linker, record
from tests.train.tiny import are_equal, config


@pytest.fixture(params=["fp32", "bf16", "bf16-weights"])
def training_config(request: pytest.FixtureRequest, model: Path, corpus: Path, kb_folder: Path) -> GenerativeTrainingConfig:
    """Two rounds over half of the corpus each, with dropout."""
    optim = {"learning_rate": 1e-3, "eval_steps": 2, "precision": request.param}
    return config("prefer", model, corpus, kb_folder, prefer={"rounds": 2}, optim=optim)


@pytest.mark.slow
def test_two_rounds_stopped_after_the_first_and_going_on(
    tmp_path: Path, kb_folder: Path, training_config: GenerativeTrainingConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(training_config, tmp_path / "whole")
    open_linker(whole, kb_folder)
    kept = [read_pairs(tmp_path / "whole.work" / f"round-{number}" / "pairs.jsonl") for number in (0, 1)]
    assert kept[0][0] != kept[1][0]

    own, queries = prefer_module._round, list[int]()

    def stopping(context: Any, number: int) -> Any:
        queries.append(number)
        if number == 1 and queries.count(1) == 1:
            raise RuntimeError("stopped")
        return own(context, number)

    monkeypatch.setattr(prefer_module, "_round", stopping)
    with pytest.raises(RuntimeError, match="stopped"):
        train(training_config, tmp_path / "parts")
    assert (tmp_path / "parts.work" / "round-0" / "model" / "model.safetensors").is_file()
    assert not (tmp_path / "parts").exists()
    parts = train(training_config, tmp_path / "parts")
    assert queries == [0, 1, 1], "a finished round should not be repeated"
    assert [read_pairs(tmp_path / "parts.work" / f"round-{number}" / "pairs.jsonl") for number in (0, 1)] == kept
    assert are_equal(load_file(whole / "model.safetensors"), load_file(parts / "model.safetensors"))


@pytest.mark.slow
def test_all_rounds_done_and_only_publishing_is_left(
    tmp_path: Path, training_config: GenerativeTrainingConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(training_config, tmp_path / "whole")
    whole.rename(tmp_path / "elsewhere")
    queries: list[Any] = []
    monkeypatch.setattr(prefer_module, "predicted_preferences", lambda *words, **_: queries.append(words))
    again = train(training_config, tmp_path / "whole")
    assert queries == []
    assert are_equal(load_file(again / "model.safetensors"), load_file(tmp_path / "elsewhere" / "model.safetensors"))
    assert record(again)["steps"] == record(tmp_path / "elsewhere")["steps"]


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["dpo", "cpo", "simpo", "pairwise"])
def test_each_loss(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path, loss: str) -> None:
    made = train(config("prefer", model, corpus, kb_folder, prefer={"loss": loss, "rule": "all"}), tmp_path / "made")
    open_linker(made, kb_folder)
    assert record(made)["config"]["prefer"]["loss"] == loss


@pytest.mark.slow
def test_wrong_names_that_look_like_the_mention(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path) -> None:
    made = train(config("prefer", model, corpus, kb_folder, prefer={"negatives": "similar"}), tmp_path / "made")
    open_linker(made, kb_folder)


@pytest.mark.slow
def test_a_knowledge_base_alone(tmp_path: Path, model: Path, kb_folder: Path) -> None:
    made = train(config("prefer", model, None, kb_folder, prefer={"negatives": "similar", "epochs": 2.0}), tmp_path / "made")
    open_linker(made, kb_folder)
    preferred, _ = read_pairs(tmp_path / "made.work" / "round-0" / "pairs.jsonl")
    assert len(preferred) <= 16
    assert record(made)["steps"] == -(-2 * len(preferred) // 4)
    with pytest.raises(ConfigError, match="config-invalid"):
        train(config("prefer", model, None, kb_folder), tmp_path / "other")


def test_where_there_is_nothing_to_prefer(
    tmp_path: Path, model: Path, corpus: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefer_module, "predicted_preferences", lambda *_, **__: [])
    with pytest.raises(InputError, match="training-empty"):
        train(config("prefer", model, corpus, kb_folder), tmp_path / "made")
