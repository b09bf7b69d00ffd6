"""Tests of preference optimisation: the loss of pairs, and its rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from onym.errors import ConfigError, InputError
from onym.train.configs import GenerativeOptimConfig, GenerativeTrainingConfig, PreferConfig
from onym.train.generative import prefer as prefer_module
from onym.train.generative.prefer import PreferenceTrainer, loss_of, name_scores, read_pairs, reference_scores, score_of
from onym.train.run import train
from onym.train.samples.base import Pair
from tests.support.models import tiny_bart
from tests.train.made import open_linker, record
from tests.train.tiny import COLLATE, EOS, START, RecordingSamples, are_equal, config, furthest, optim, pairs, weights_of

PREFERRED = [
    PreferConfig(loss="dpo", beta=0.3),
    PreferConfig(loss="dpo", beta=0.3, score="mean"),
    PreferConfig(loss="cpo", beta=0.2, alpha=0.7),
    PreferConfig(loss="simpo", beta=2.0, gamma=0.4),
    PreferConfig(loss="pairwise", beta=0.5),
]


def still_bart(dtype: torch.dtype = torch.float32) -> Any:
    return tiny_bart(dropout=0.0).to(dtype)


def log_probs_by_hand(model: Any, pair: Pair, name: Sequence[int]) -> list[Tensor]:
    """Return the log-probability of each token of a name and of its end token, computed for one pair at a time."""
    ids = torch.tensor([[START, *pair.prompt, *name]])
    logits = model(input_ids=torch.tensor([pair.source]), decoder_input_ids=ids, use_cache=False).logits[0]
    written = enumerate([*name, EOS])
    return [logits[len(pair.prompt) + number].log_softmax(-1)[token] for number, token in written]


def loss_by_hand(model: Any, batch: Sequence[Pair], prefer: PreferConfig) -> Tensor:
    """Return the mean loss over pairs, written as in the papers."""
    total = torch.zeros((), dtype=model.dtype)
    for pair in batch:
        preferred, rejected = (log_probs_by_hand(model, pair, name) for name in (pair.preferred, pair.rejected))
        score = prefer.score or ("mean" if prefer.loss == "simpo" else "sum")
        right, wrong = (torch.stack(each).sum() / (len(each) if score == "mean" else 1) for each in (preferred, rejected))
        margin = right - wrong
        if prefer.loss == "dpo":
            margin = margin - (pair.reference[0] - pair.reference[1])
        inner = prefer.beta * margin - (prefer.gamma if prefer.loss == "simpo" else 0)
        total = total + torch.log1p(torch.exp(-inner))
        if prefer.loss == "cpo":
            total = total - prefer.alpha * sum(preferred) / len(preferred)
    return total / len(batch)


def train_model(
    model: Any, dataset: RecordingSamples[Pair], folder: Path, settings: GenerativeOptimConfig, prefer: PreferConfig
) -> PreferenceTrainer:
    trainer = PreferenceTrainer(model, dataset, COLLATE, folder, settings, prefer=prefer)
    trainer.resume()
    return trainer


def name_objective(prefer: PreferConfig) -> str:
    return prefer.loss + prefer.score


@pytest.mark.parametrize("prefer", PREFERRED, ids=name_objective)
def test_loss_matches_the_papers(tmp_path: Path, prefer: PreferConfig) -> None:
    trainer, batch = PreferenceTrainer(still_bart(), pairs(5), COLLATE, tmp_path, optim(), prefer=prefer), pairs(5).samples
    found = trainer.batch_loss(trainer.model, COLLATE.pairs(batch)) / 5
    assert found.item() == pytest.approx(loss_by_hand(trainer.model, batch, prefer).item(), rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("prefer", PREFERRED, ids=name_objective)
def test_step_matches_manual_computation(tmp_path: Path, prefer: PreferConfig) -> None:
    """In its first step, AdamW changes every weight in the direction that lowers the loss, by at most the learning rate."""
    model, expected = still_bart(torch.float64), still_bart(torch.float64)
    settings = optim(steps=1, eval_steps=1, batch_size=6, weight_decay=0.0, max_grad_norm=1e9, epsilon=1e-6)
    dataset = pairs(6)
    trainer = train_model(model, dataset, tmp_path, settings, prefer)
    loss = loss_by_hand(expected, dataset.samples, prefer)
    loss.backward()  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for parameter in expected.parameters():
            parameter.sub_(1e-2 * parameter.grad / (parameter.grad.abs() + 1e-6))
    assert furthest(weights_of(model), weights_of(expected)) < 1e-6
    assert trainer.state.log_history[0]["loss"] == pytest.approx(loss.item(), rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("prefer", PREFERRED, ids=name_objective)
def test_gradient_accumulation_equals_one_batch(tmp_path: Path, prefer: PreferConfig) -> None:
    found = []
    for name, batch, times in (("whole", 8, 1), ("parts", 1, 8)):
        model = still_bart()
        settings = optim(steps=1, eval_steps=1, batch_size=batch, gradient_accumulation=times, epsilon=1e-3)
        trainer = train_model(model, pairs(8), tmp_path / name, settings, prefer)
        found.append((weights_of(model), trainer.state.log_history[0]["loss"]))
    assert furthest(found[0][0], found[1][0]) < 1e-6
    assert found[0][1] == pytest.approx(found[1][1], abs=1e-5)


def test_initial_dpo_loss_is_log_2(tmp_path: Path) -> None:
    batch = pairs(7).samples
    model = still_bart()
    references = reference_scores(model, batch, COLLATE, "sum")
    own = [replace(pair, reference=found) for pair, found in zip(batch, references, strict=True)]
    trainer = PreferenceTrainer(model, RecordingSamples(own), COLLATE, tmp_path, optim(), prefer=PreferConfig())
    assert (trainer.batch_loss(trainer.model, COLLATE.pairs(own)) / 7).item() == pytest.approx(log(2), abs=1e-5)


@pytest.mark.parametrize("score", ["sum", "mean"])
def test_reference_scores_are_in_order_of_pairs(score: Any) -> None:
    model, batch = tiny_bart(dropout=0.5).train(), pairs(70).samples
    found = reference_scores(model, batch, COLLATE, score)
    assert model.training
    model.eval()
    for pair, both in zip(batch, found, strict=True):
        for name, value in zip((pair.preferred, pair.rejected), both, strict=True):
            by_hand = [each.item() for each in log_probs_by_hand(model, pair, name)]
            assert value == pytest.approx(sum(by_hand) / (len(by_hand) if score == "mean" else 1), abs=1e-4)


def test_scores_have_one_row_per_pair() -> None:
    model, examples = still_bart(), pairs(3).samples
    batch = COLLATE.pairs(examples)
    batch.pop("reference")
    scores, means = name_scores(model, model, batch, "sum")
    assert scores.shape == means.shape == (3, 2)
    lengths = torch.tensor([[len(pair.preferred) + 1, len(pair.rejected) + 1] for pair in examples])
    torch.testing.assert_close(means * lengths, scores)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16-weights"])
def test_resumed_training_equals_uninterrupted(tmp_path: Path, precision: str) -> None:
    settings = optim(steps=6, eval_steps=2, batch_size=2, precision=precision)
    model = tiny_bart(dropout=0.3)
    train_model(model, pairs(12), tmp_path / "whole", settings, PREFERRED[0])

    class Stopping(RecordingSamples[Pair]):
        def __getitems__(self, indices: Sequence[int]) -> list[Pair]:
            if 9 in indices:
                raise RuntimeError("stopped")
            return super().__getitems__(indices)

    with pytest.raises(RuntimeError, match="stopped"):
        train_model(tiny_bart(dropout=0.3), Stopping(pairs(12).samples), tmp_path / "parts", settings, PREFERRED[0])
    again, dataset = tiny_bart(dropout=0.3), pairs(12)
    train_model(again, dataset, tmp_path / "parts", settings, PREFERRED[0])
    assert dataset.indices == list(range(4, 12))  # not from 8: the batch that failed was prefetched
    assert are_equal(weights_of(model), weights_of(again))


def test_passes_options_to_losses_that_have_them() -> None:
    prefer = PreferConfig(loss="simpo", beta=3.0, gamma=0.7, alpha=9.0)
    assert dict(loss_of(prefer).options) | {"beta": 3.0, "gamma": 0.7} == dict(loss_of(prefer).options)
    assert "alpha" not in loss_of(prefer).options
    assert loss_of(PreferConfig(loss="cpo", alpha=9.0)).options["alpha"] == 9.0
    assert [score_of(PreferConfig(loss=each)) for each in ("dpo", "cpo", "pairwise", "simpo")] == ["sum", "sum", "sum", "mean"]


@pytest.fixture(params=["fp32", "bf16", "bf16-weights"])
def training_config(request: pytest.FixtureRequest, model: Path, corpus: Path, kb_folder: Path) -> GenerativeTrainingConfig:
    """Train two rounds with dropout, each on half of the corpus."""
    optim = {"learning_rate": 1e-3, "eval_steps": 2, "precision": request.param}
    return config("prefer", model, corpus, kb_folder, prefer={"rounds": 2}, optim=optim)


@pytest.mark.slow
def test_resumes_after_first_round(
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
def test_resumes_after_all_rounds(
    tmp_path: Path, training_config: GenerativeTrainingConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(training_config, tmp_path / "whole")
    whole.rename(tmp_path / "elsewhere")
    queries: list[Any] = []
    monkeypatch.setattr(prefer_module, "predict_preferences", lambda *words, **_: queries.append(words))
    again = train(training_config, tmp_path / "whole")
    assert queries == []
    assert are_equal(load_file(again / "model.safetensors"), load_file(tmp_path / "elsewhere" / "model.safetensors"))
    assert record(again)["steps"] == record(tmp_path / "elsewhere")["steps"]


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["dpo", "cpo", "simpo", "pairwise"])
def test_trains_with_each_loss(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path, loss: str) -> None:
    made = train(config("prefer", model, corpus, kb_folder, prefer={"loss": loss, "rule": "all"}), tmp_path / "made")
    open_linker(made, kb_folder)
    assert record(made)["config"]["prefer"]["loss"] == loss


@pytest.mark.slow
def test_trains_on_similar_wrong_names(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path) -> None:
    made = train(config("prefer", model, corpus, kb_folder, prefer={"negatives": "similar"}), tmp_path / "made")
    open_linker(made, kb_folder)


@pytest.mark.slow
def test_trains_on_kb_without_dataset(tmp_path: Path, model: Path, kb_folder: Path) -> None:
    made = train(config("prefer", model, None, kb_folder, prefer={"negatives": "similar", "epochs": 2.0}), tmp_path / "made")
    open_linker(made, kb_folder)
    preferred, _ = read_pairs(tmp_path / "made.work" / "round-0" / "pairs.jsonl")
    assert len(preferred) <= 16
    assert record(made)["steps"] == -(-2 * len(preferred) // 4)
    with pytest.raises(ConfigError, match="config-invalid"):
        train(config("prefer", model, None, kb_folder), tmp_path / "other")


def test_rejects_data_without_pairs(
    tmp_path: Path, model: Path, corpus: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefer_module, "predict_preferences", lambda *_, **__: [])
    with pytest.raises(InputError, match="training-empty"):
        train(config("prefer", model, corpus, kb_folder), tmp_path / "made")
