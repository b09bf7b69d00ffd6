"""Tests of the device, precision and sharding of a training run, and of AdamW for bf16 weights."""

from __future__ import annotations

import copy
import io
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import AutoModelForSeq2SeqLM

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.methods.generative.linker import GenerativeLinker
from onym.models import device
from onym.train.configs import GenerativeOptimConfig, OptimConfig
from onym.train.precision import (
    MasterAdamW,
    drop_tied_copies,
    is_sharded,
    one_embedding,
    require_shardable,
    training_device,
    training_precision,
)
from onym.train.run import train
from onym.train.trainer import METRIC, trainer_arguments
from onym.types import Document, Mention
from tests.methods.generative.decoding.families import FAMILIES
from tests.methods.generative.decoding.families import model as family_model
from tests.support.linking import link_with
from tests.support.models import tiny_bart, tiny_encoder
from tests.train.launched import train_with_accelerate
from tests.train.tiny import are_equal, config, furthest, losses, optim, samples, train_model, weights_of

OPTIM = GenerativeOptimConfig(
    steps=70, batch_size=3, gradient_accumulation=5, learning_rate=2e-4, warmup_steps=7, schedule="cosine", weight_decay=0.3,
    epsilon=1e-7, betas=(0.8, 0.95), max_grad_norm=0.7, precision="fp32", seed=11, eval_steps=35,
)  # fmt: skip
FSDP = {
    "compute_environment": "LOCAL_MACHINE",
    "distributed_type": "FSDP",
    "use_cpu": True,
    "num_machines": 1,
    "num_processes": 2,
    "machine_rank": 0,
    "mixed_precision": "no",
    "fsdp_config": {
        "fsdp_version": 2,
        "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
        "fsdp_transformer_layer_cls_to_wrap": "BartEncoderLayer,BartDecoderLayer",
        "fsdp_reshard_after_forward": True,
        "fsdp_state_dict_type": "FULL_STATE_DICT",
        "fsdp_cpu_ram_efficient_loading": False,
    },
}
OPTIONS: dict[str, Any] = {"lr": 1e-4, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}


def test_passes_settings_to_training_arguments(tmp_path: Path) -> None:
    args = trainer_arguments(tmp_path, OPTIM, METRIC)
    assert (args.max_steps, args.per_device_train_batch_size, args.gradient_accumulation_steps) == (70, 3, 5)
    assert (args.learning_rate, args.warmup_steps, args.lr_scheduler_type, args.weight_decay) == (2e-4, 7, "cosine", 0.3)
    assert (args.adam_epsilon, args.adam_beta1, args.adam_beta2, args.max_grad_norm) == (1e-7, 0.8, 0.95, 0.7)
    assert (args.seed, args.eval_steps, args.save_steps) == (11, 35, 35)
    assert Path(args.output_dir).parent == tmp_path
    assert args.train_sampling_strategy == "sequential"


@pytest.mark.parametrize(("precision", "is_cast"), [("fp32", False), ("bf16", True), ("bf16-weights", False)])
def test_autocasts_only_for_bf16(tmp_path: Path, precision: str, is_cast: bool) -> None:
    args = trainer_arguments(tmp_path, OPTIM.model_copy(update={"precision": precision}))
    assert (args.bf16, args.fp16) == (is_cast, False)


def test_evaluates_only_with_a_metric(tmp_path: Path) -> None:
    args, bare = (trainer_arguments(tmp_path, OPTIM, metric) for metric in (METRIC, ""))
    assert (args.load_best_model_at_end, args.metric_for_best_model, args.greater_is_better) == (True, METRIC, True)
    assert (bare.load_best_model_at_end, str(bare.eval_strategy.value)) == (False, "no")
    assert (args.eval_on_start, bare.eval_on_start) == (True, False)


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> list[torch.device]:
    """Simulate two GPUs; return the list of devices passed to `set_device`."""
    current: list[torch.device] = []
    monkeypatch.delenv("ACCELERATE_USE_CPU", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: not including_emulation)
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    return current


def test_chooses_the_device(gpus: list[torch.device], monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(gpus) == 0
    assert [str(training_device(OptimConfig(device=name))) for name in ("cpu", "auto", "cuda:1")] == ["cpu", "cuda:0", "cuda:1"]
    with pytest.raises(ConfigError, match="device-unavailable"):
        training_device(OptimConfig(device="cuda:7"))
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert str(training_device(OptimConfig())) == "cuda:1", "each process has a GPU of its own"
    assert str(training_device(OptimConfig(device="cpu"))) == "cpu"
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    assert str(training_device(OptimConfig())) == "cpu"


@pytest.mark.parametrize("name", ["cuda", "cuda:1"])
def test_trainer_uses_only_the_chosen_gpu(tmp_path: Path, gpus: list[torch.device], name: str) -> None:
    """By default, Trainer would use the first GPU and replicate the model on all others."""
    args = trainer_arguments(tmp_path, OptimConfig(device=name, precision="fp32"))
    wanted = training_device(OptimConfig(device=name))
    assert (args.device, args.n_gpu, args.use_cpu) == (wanted, 1, False)
    assert gpus[-1] == wanted


def test_trainer_uses_the_cpu_if_set(tmp_path: Path, gpus: list[torch.device]) -> None:
    args = trainer_arguments(tmp_path, OptimConfig(device="cpu"))
    assert (str(args.device), args.n_gpu, args.use_cpu) == ("cpu", 0, True)
    assert len(gpus) == 0


@pytest.mark.parametrize(
    ("name", "has_bf16", "sharded", "wanted"),
    [
        ("cpu", False, "", "fp32"),
        ("cpu", True, "", "bf16-weights"),
        ("cpu", True, "true", "bf16"),
        ("cuda", True, "", "bf16"),
        ("cuda", False, "", "fp32"),
    ],
)
def test_auto_chooses_fastest_precision(
    gpus: list[torch.device], monkeypatch: pytest.MonkeyPatch, name: str, has_bf16: bool, sharded: str, wanted: str
) -> None:
    assert len(gpus) == 0
    monkeypatch.setattr(device, "_has_bf16", lambda _: has_bf16)
    monkeypatch.setenv("ACCELERATE_USE_FSDP", sharded)
    assert training_precision(OptimConfig(device=name)) == wanted
    assert training_precision(OptimConfig(device=name, precision="fp32")) == "fp32"


@pytest.mark.slow
def test_fsdp_training_equals_unsharded_training(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path) -> None:
    still = {"dropout": 0.0, "attention_dropout": 0.0}
    steps = {"steps": 3, "eval_steps": 1, "epsilon": 1e-4}
    whole, parts = (
        config("finetune", model, corpus, kb_folder, start=still, dev={"mentions": 4}, optim=steps | {"batch_size": batch})
        for batch in (8, 4)
    )
    train(whole, tmp_path / "whole")
    train_with_accelerate(tmp_path, FSDP, {"parts": parts})
    made = tmp_path / "parts"
    # FSDP checkpoints have `optimizer.bin`; without sharding, the file would be `optimizer.pt`.
    assert (tmp_path / "parts.work" / "checkpoints" / "checkpoint-3" / "optimizer.bin").is_file()
    assert furthest(load_file(made / "model.safetensors"), load_file(tmp_path / "whole" / "model.safetensors")) < 1e-4
    assert losses(made) == pytest.approx(losses(tmp_path / "whole"), abs=1e-4)

    linker = GenerativeLinker.from_pretrained(made, KnowledgeBase.open(kb_folder), dtype="fp32")
    doc = Document("1", "A fever.", (Mention(2, 7, "fever"),))
    (linked,) = link_with(linker, [doc])
    assert linked.links[0].candidates


def test_rejects_bf16_weights_with_fsdp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_shardable("bf16-weights")
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    assert is_sharded()
    with pytest.raises(ConfigError, match="config-invalid"):
        train_model(tiny_bart(), samples(4), tmp_path, optim(precision="bf16-weights"))
    require_shardable("bf16")


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"biobart"}))
def test_sharing_the_embedding_module_keeps_outputs(family: str) -> None:
    model = copy.deepcopy(family_model(family))
    ids = torch.tensor([[3, 5, 7]])
    before, names = model(input_ids=ids, decoder_input_ids=ids).logits, list(model.state_dict())
    assert one_embedding(model) is model
    assert torch.equal(model(input_ids=ids, decoder_input_ids=ids).logits, before)
    assert list(model.state_dict()) == names
    assert model.get_encoder().embed_tokens is model.get_decoder().embed_tokens is model.get_input_embeddings()


def test_sharing_embeddings_does_not_change_an_encoder() -> None:
    model = tiny_encoder()
    names = list(model.state_dict())
    assert one_embedding(model) is model
    assert list(model.state_dict()) == names


def test_drops_copies_of_tied_weights() -> None:
    model = tiny_bart()
    gathered = {name: value.clone() for name, value in weights_of(model).items()}
    assert gathered.keys() - drop_tied_copies(gathered, model).keys() == {
        "lm_head.weight",
        "model.encoder.embed_tokens.weight",
        "model.decoder.embed_tokens.weight",
    }


def weight(*values: float) -> nn.Parameter:
    return nn.Parameter(torch.tensor(values, dtype=torch.bfloat16))


def take_steps(optimizer: torch.optim.Optimizer, parameter: nn.Parameter, steps: int, seed: int = 0) -> Tensor:
    """Take steps with random gradients that are exact in bf16, and return the final weights."""
    draw = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        gradient = torch.randn(parameter.shape, generator=draw).bfloat16()
        parameter.grad = gradient.to(parameter.dtype)
        optimizer.step()
        optimizer.zero_grad()
    return parameter.detach()


def test_master_copies_match_fp32_adamw() -> None:
    short, exact = weight(1.0, -2.0, 0.5), nn.Parameter(torch.tensor([1.0, -2.0, 0.5]))
    master = MasterAdamW([short], **OPTIONS)
    take_steps(master, short, 20)
    take_steps(torch.optim.AdamW([exact], fused=True, **OPTIONS), exact, 20)
    assert torch.equal(master.masters[0].detach(), exact.detach())
    assert torch.equal(short.detach(), exact.detach().bfloat16())


def test_keeps_updates_too_small_for_bf16() -> None:
    """One update is 1/10,000 of the weight, which bf16 rounds away; a hundred updates must have an effect."""
    kept, lost = weight(1.0), weight(1.0)
    for parameter, optimizer in ((kept, MasterAdamW([kept], **OPTIONS)), (lost, torch.optim.AdamW([lost], **OPTIONS))):
        for _ in range(100):
            parameter.grad = torch.ones_like(parameter)
            optimizer.step()
    assert lost.item() == 1.0
    assert kept.item() == pytest.approx(0.99, abs=0.004)


def test_does_not_update_frozen_weights() -> None:
    one, other = weight(1.0), weight(2.0).requires_grad_(False)
    optimizer = MasterAdamW([one, other], **OPTIONS)
    assert [parameter is one for parameter in optimizer.moved] == [True]
    take_steps(optimizer, one, 3)
    assert other.item() == 2.0


def test_does_not_update_weight_without_gradient() -> None:
    one, other = weight(1.0), weight(2.0)
    optimizer = MasterAdamW([one, other], **OPTIONS)
    one.grad = torch.ones_like(one)
    optimizer.step()
    assert optimizer.masters[1].item() == 2.0
    optimizer.zero_grad()
    assert [parameter.grad for parameter in (one, other, *optimizer.masters)] == [None] * 4


def test_optimizer_state_resumes_exactly() -> None:
    whole = weight(1.0, 3.0)
    expected = take_steps(MasterAdamW([whole], **OPTIONS), whole, 6)

    begun = weight(1.0, 3.0)
    first = MasterAdamW([begun], **OPTIONS)
    take_steps(first, begun, 3)
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
def test_final_and_saved_weights_are_the_master_copies(tmp_path: Path, is_frozen: bool) -> None:
    model = tiny_bart()
    if is_frozen:
        model.get_input_embeddings().requires_grad_(False)
    before = weights_of(model)
    trainer = train_model(model, samples(16), tmp_path, optim(precision="bf16-weights", eval_steps=4))
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
