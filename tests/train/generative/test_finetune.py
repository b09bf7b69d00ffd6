"""Fine-tuning from a corpus to a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from onym.errors import InputError
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.train.generative.context import GenerativeContext
from onym.train.generative.finetune import finetune, train_names
from onym.train.run import train
from onym.train.samples.mentions import MentionSamples
from tests.train.made import open_linker
from tests.train.tiny import config, losses


def trained(folder: Path, model: Path, corpus: Path, kb: Path, **more: dict[str, Any]) -> Path:
    return train(config("finetune", model, corpus, kb, **more), folder)


@pytest.mark.slow
def test_a_model_learns_its_corpus(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path) -> None:
    """It ends with every mention of train right, from about one in three; a test that is slower than others."""
    optim = {
        "steps": 200,
        "batch_size": 12,
        "eval_steps": 100,
        "learning_rate": 1e-2,
        "label_smoothing": 0.0,
        "schedule": "linear",
    }
    still = {"dropout": 0.0, "attention_dropout": 0.0}
    made = trained(
        tmp_path / "made", model, corpus, kb_folder, optim=optim, start=still, dev={"mentions": 12, "split": "train"}
    )
    entries = [json.loads(line) for line in (made / "log.jsonl").read_text().splitlines()]
    scores = [entry["eval_dev_r1"] for entry in entries if "eval_dev_r1" in entry]
    assert scores[0] < 60
    assert max(scores) >= 90
    found = losses(made)
    assert found[-1] < found[0] / 4
    open_linker(made, kb_folder)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["similar", "short", "sampled"])
def test_which_names_are_learnt_matters(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path, target: str) -> None:
    few = trained(tmp_path / "one", model, corpus, kb_folder, data={"target": target})
    more = trained(tmp_path / "three", model, corpus, kb_folder, data={"target": target, "names": 3})
    one, other = load_file(few / "model.safetensors"), load_file(more / "model.safetensors")
    are_equal = all((one[name] == other[name]).all() for name in one)
    assert are_equal == (target == "sampled")


def test_a_corpus_of_which_nothing_is_known(tmp_path: Path, model: Path, corpus: Path) -> None:
    (tmp_path / "other.tsv").write_text("id\tname\nmesh:D000001\tother\n")
    build_kb(Recipe.of({"sources": [{"path": "other.tsv"}]}), tmp_path / "kb", root=tmp_path)
    with pytest.raises(InputError, match="training-empty") as caught:
        finetune(GenerativeContext(config("finetune", model, corpus, tmp_path / "kb"), tmp_path / "work"))
    assert caught.value.code == "training-empty"


@pytest.mark.slow
def test_the_settings_reach_the_trainer(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path) -> None:
    context = GenerativeContext(
        config("finetune", model, corpus, kb_folder, dev={"mentions": 2}, optim={"eval_steps": 2}), tmp_path / "work"
    )
    samples = MentionSamples(context.mentions, context.kb, context.layout, count=context.total_samples)
    trainer = train_names(context, samples)
    assert trainer.state.global_step == context.config.optim.steps
    assert trainer.metrics().keys() == {"dev_r1", "dev_r5"}
    again = train_names(context, samples)  # all is done: the last checkpoint is taken
    assert again.state.global_step == trainer.state.global_step
    assert again.state.total_flos == trainer.state.total_flos
