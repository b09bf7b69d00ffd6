"""Tests of models that encode whole documents: the module with its loss, and its trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch.nn.functional import logsigmoid, normalize

from onym.methods.collective.model import Heads
from onym.models.settings import EncoderSettings
from onym.models.tokens import Tokenizer
from onym.models.torch_encoder import vectors_of
from onym.train.collective import trainer as recipe
from onym.train.collective.document_model import CollectiveModule, CollectiveTrainer
from onym.train.collective.trainer import CollectiveContext, TrainingWindows, WindowCollate
from onym.train.configs import CollectiveLossConfig
from onym.types import Document, Mention
from tests.support.models import tiny_encoder
from tests.train.tiny import collective_config, furthest, weights_of

SETTINGS = EncoderSettings(pooling="mean", similarity="cosine")
DOCS = [
    Document(
        "1", "A heart attack, then fever.", (Mention(2, 14, "heart attack", ("a:1",)), Mention(21, 26, "fever", ("a:2",)))
    ),
    Document("2", "High fever came after the cold and went.", (Mention(5, 10, "fever", ("a:2",)),)),
]
NAMES = torch.tensor([[0, 9, 30, 2, 1], [0, 40, 41, 42, 2], [0, 50, 2, 1, 1]])
IS_POSITIVE = torch.tensor([[True, False, True], [False, True, False], [False, True, False]])


def module(detect: Any = "spans", represent: Any = "mean", loss: CollectiveLossConfig | None = None) -> CollectiveModule:
    torch.manual_seed(0)
    body, names = tiny_encoder(seed=1), tiny_encoder(seed=2)
    heads = Heads(16, 16, represent, detect)
    return CollectiveModule(body, names, heads, SETTINGS, loss or CollectiveLossConfig()).double().eval()


def batch_of(encoder: Path, docs: list[Document], detect: Any, rows: list[int]) -> dict[str, torch.Tensor]:
    tokens = Tokenizer.open(encoder)
    wanted = [(doc, mention) for doc in DOCS for mention in doc.mentions]
    windows = TrainingWindows(docs, wanted, tokens, room=60, overlap=0)
    shown = sorted(windows.__getitems__(range(windows.epoch)), key=lambda window: window.doc.id)
    batch = WindowCollate(tokens, 1, detect, 6)(shown)
    return batch | {"name_ids": NAMES, "name_mask": (NAMES != 1).long(), "is_positive": IS_POSITIVE[rows]}


@pytest.mark.parametrize("detect", ["none", "spans", "tags"])
@pytest.mark.parametrize("represent", ["ends", "mean"])
def test_batch_loss_is_sum_over_documents(encoder: Path, detect: Any, represent: Any) -> None:
    model = module(detect, represent)
    together = model(**batch_of(encoder, DOCS, detect, [0, 1, 2]))
    alone = model(**batch_of(encoder, DOCS[:1], detect, [0, 1])) + model(**batch_of(encoder, DOCS[1:], detect, [2]))
    torch.testing.assert_close(together, alone, atol=1e-6, rtol=1e-6)
    assert together > 0


def test_linking_loss_is_log_probability_of_all_right_names(encoder: Path) -> None:
    model, batch = module("none", loss=CollectiveLossConfig(scale=7.0, link=0.5)), batch_of(encoder, DOCS, "none", [0, 1, 2])
    names = []
    for ids in NAMES:
        own = ids[ids != 1][None]
        names.append(normalize(model.names(input_ids=own).last_hidden_state[0].mean(0), dim=0))
    states = model.body(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state.flatten(0, 1)
    total = torch.tensor(0.0, dtype=torch.float64)
    for first, last, right in zip(batch["firsts"], batch["lasts"], IS_POSITIVE, strict=True):
        chances = torch.softmax(7.0 * torch.stack(names) @ normalize(states[first:last].mean(0), dim=0), 0)
        total -= chances[right].sum().log()
    torch.testing.assert_close(model(**batch), total * 0.5, atol=1e-6, rtol=1e-6)


def test_detection_loss_is_binary_cross_entropy_of_spans(encoder: Path) -> None:
    model, batch = module("spans", loss=CollectiveLossConfig(link=0.0, detect=2.0)), batch_of(encoder, DOCS, "spans", [0, 1, 2])
    states = model.body(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state.flatten(0, 1)
    scores = model.heads.span_scores(states, batch["span_firsts"], batch["span_lasts"])
    marked = zip(scores[:, 0], batch["is_mention"], strict=True)
    wanted = -sum(logsigmoid(score if right else -score) for score, right in marked)
    torch.testing.assert_close(model(**batch), 2.0 * torch.as_tensor(wanted), atol=1e-6, rtol=1e-6)


def test_does_not_update_frozen_name_encoder(encoder: Path) -> None:
    free = module("none")
    model = CollectiveModule(free.body, free.names, free.heads, SETTINGS, CollectiveLossConfig(), freeze_names=True)
    model(**batch_of(encoder, DOCS, "none", [0, 1, 2])).backward()
    assert all(each.grad is None for each in model.names.parameters())
    assert any(each.grad is not None and each.grad.abs().sum() > 0 for each in model.body.parameters())


def test_stored_name_vectors_are_not_encoded_again(encoder: Path) -> None:
    model, batch = module("none"), batch_of(encoder, DOCS, "none", [0, 1, 2])
    known = vectors_of(model.names, batch["name_ids"], batch["name_mask"], SETTINGS).detach()
    inputs = {name: value for name, value in batch.items() if name not in ("name_ids", "name_mask")} | {"name_vectors": known}
    torch.testing.assert_close(model(**inputs), model(**batch), atol=1e-6, rtol=1e-6)


def test_loss_of_batch_without_mentions_is_zero(encoder: Path) -> None:
    bare = [Document("3", "Nothing here.")]
    batch = batch_of(encoder, bare, "none", [])
    assert module("none")(**batch).item() == 0.0


def test_checkpoint_has_all_weights(tmp_path: Path) -> None:
    model = module("tags")
    model.save_pretrained(tmp_path / "here")
    found = load_file(tmp_path / "here" / "model.safetensors")
    assert set(found) == set(model.state_dict())
    other = module("tags")
    other.load_state_dict(found)


def make_trainer(tmp_path: Path, encoder: Path, corpus: Path, kb: Path, name: str, **optim: Any) -> CollectiveTrainer:
    options = {"steps": 2, "eval_steps": 2, "precision": "fp32", "learning_rate": 1e-3, "epsilon": 1e-2} | optim
    data = {"hard_negatives": 0, "random_negatives": 0, "similar": 1.0}
    context = CollectiveContext(
        collective_config(encoder, corpus, kb, optim=options, data=data, loss={"link": 0.0}), tmp_path / name
    )
    return recipe.collective(context)


@pytest.mark.slow
def test_gradient_accumulation_equals_one_batch(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    one = make_trainer(tmp_path, encoder, corpus, kb_folder, "one", batch_size=4, gradient_accumulation=1)
    other = make_trainer(tmp_path, encoder, corpus, kb_folder, "other", batch_size=2, gradient_accumulation=2)
    assert furthest(weights_of(one.model), weights_of(other.model)) < 1e-5


@pytest.mark.slow
def test_uses_names_of_the_last_mining(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    config = collective_config(encoder, corpus, kb_folder, optim={"steps": 1, "eval_steps": 1})
    trainer = recipe.collective(CollectiveContext(config, tmp_path))
    assert trainer.negatives is not None
    numbers = torch.tensor([0, 3])
    before = trainer._names({"numbers": numbers})
    assert before["is_positive"].any(1).all()
    assert before["name_ids"].shape[0] == before["is_positive"].shape[1]
    trainer.negatives.hard = [[] for _ in trainer.negatives.hard]
    assert trainer._names({"numbers": numbers})["is_positive"].shape[1] < before["is_positive"].shape[1]
    assert trainer._names({"numbers": torch.tensor([], dtype=torch.long)}) == {}


def test_samples_no_names_without_negatives(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    trainer = make_trainer(tmp_path, encoder, corpus, kb_folder, "bare", batch_size=2)
    assert trainer.negatives is None
    assert trainer._names({"numbers": torch.tensor([0])}) == {}
    with pytest.raises(AttributeError):
        _ = trainer.model.names.config
