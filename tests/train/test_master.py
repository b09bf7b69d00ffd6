"""AdamW for weights of bf16: as if they were fp32, to the last bit, and nothing of it is lost in a checkpoint."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import AutoModelForSeq2SeqLM

from onym.testing.tiny_seq2seq import tiny_bart
from onym.train.master import MasterAdamW
from tests.train.tiny import are_equal, optim, samples, trained, weights_of

OPTIONS: dict[str, Any] = {"lr": 1e-4, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}


def weight(*values: float) -> nn.Parameter:
    return nn.Parameter(torch.tensor(values, dtype=torch.bfloat16))


def moved(optimizer: torch.optim.Optimizer, parameter: nn.Parameter, steps: int, seed: int = 0) -> Tensor:
    """Take steps by random gradients that bf16 can say, and return what the weights are in the end."""
    draw = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        gradient = torch.randn(parameter.shape, generator=draw).bfloat16()
        parameter.grad = gradient.to(parameter.dtype)
        optimizer.step()
        optimizer.zero_grad()
    return parameter.detach()


def test_steps_are_those_of_adamw_in_fp32() -> None:
    short, exact = weight(1.0, -2.0, 0.5), nn.Parameter(torch.tensor([1.0, -2.0, 0.5]))
    master = MasterAdamW([short], **OPTIONS)
    moved(master, short, 20)
    moved(torch.optim.AdamW([exact], fused=True, **OPTIONS), exact, 20)
    assert torch.equal(master.masters[0].detach(), exact.detach())
    assert torch.equal(short.detach(), exact.detach().bfloat16())


def test_small_steps_are_not_lost() -> None:
    """Each is a 10,000th of the weight, far below what bf16 can say; a hundred of them are not."""
    kept, lost = weight(1.0), weight(1.0)
    for parameter, optimizer in ((kept, MasterAdamW([kept], **OPTIONS)), (lost, torch.optim.AdamW([lost], **OPTIONS))):
        for _ in range(100):
            parameter.grad = torch.ones_like(parameter)
            optimizer.step()
    assert lost.item() == 1.0
    assert kept.item() == pytest.approx(0.99, abs=0.004)


def test_frozen_weights_are_left_alone() -> None:
    one, other = weight(1.0), weight(2.0).requires_grad_(False)
    optimizer = MasterAdamW([one, other], **OPTIONS)
    assert [parameter is one for parameter in optimizer.moved] == [True]
    moved(optimizer, one, 3)
    assert other.item() == 2.0


def test_a_weight_without_a_gradient_stays() -> None:
    one, other = weight(1.0), weight(2.0)
    optimizer = MasterAdamW([one, other], **OPTIONS)
    one.grad = torch.ones_like(one)
    optimizer.step()
    assert optimizer.masters[1].item() == 2.0
    optimizer.zero_grad()
    assert [parameter.grad for parameter in (one, other, *optimizer.masters)] == [None] * 4


def test_a_state_goes_on_exactly_where_it_was() -> None:
    whole = weight(1.0, 3.0)
    expected = moved(MasterAdamW([whole], **OPTIONS), whole, 6)

    begun = weight(1.0, 3.0)
    first = MasterAdamW([begun], **OPTIONS)
    moved(first, begun, 3)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    resumed = weight(0.0, 0.0)
    second = MasterAdamW([resumed], **OPTIONS)
    second.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(second.masters[0], first.masters[0])
    assert torch.equal(resumed, begun)
    kept = first.state_dict()["state"][0]
    assert all(torch.equal(value, kept[name]) for name, value in second.state_dict()["state"][0].items())
    assert second.masters[0].requires_grad

    draw = torch.Generator().manual_seed(0)
    gradients = [torch.randn((2,), generator=draw).bfloat16() for _ in range(6)]
    for gradient in gradients[3:]:
        resumed.grad = gradient
        second.step()
    assert torch.equal(resumed, expected)


@pytest.mark.slow
@pytest.mark.parametrize("is_frozen", [False, True])
def test_the_trained_and_the_saved_weights_are_the_copies(tmp_path: Path, is_frozen: bool) -> None:
    model = tiny_bart()
    if is_frozen:
        model.get_input_embeddings().requires_grad_(False)
    before = weights_of(model)
    trainer = trained(model, samples(16), tmp_path, optim(precision="bf16-weights", eval_steps=4))
    assert trainer.master is not None
    masters = {id(parameter): master for parameter, master in zip(trainer.master.moved, trainer.master.masters, strict=True)}
    named = dict(model.named_parameters(remove_duplicate=False))
    assert len(named) > len(set(map(id, named.values()))), "some weights should be tied"
    for name, parameter in named.items():
        expected = masters[id(parameter)] if parameter.requires_grad else before[name].bfloat16().float()
        assert parameter.dtype == torch.float32
        assert torch.equal(parameter, expected), name
        is_short = torch.equal(parameter, parameter.bfloat16().float())
        assert is_short == (not parameter.requires_grad), "what was trained should not be rounded"

    folder = tmp_path / "checkpoints" / "checkpoint-4"
    assert len(load_file(folder / "model.safetensors")) == len(set(map(id, named.values()))) + 1, "a weight is saved twice"
    again = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32)
    assert are_equal(weights_of(again), weights_of(model))
