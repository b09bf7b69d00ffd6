"""A model that is sharded over two devices by FSDP, as accelerate's own configuration says.

It is FSDP of version 2, which shards over gloo on CPUs; version 1 wants graphics cards (accelerate 1.15 gives it a device index
that CPUs do not have). `tests.train.worker` says what stands in the way on CPUs otherwise.
"""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.linkers.generative import GenerativeLinker
from onym.testing.tiny_encoder import tiny_encoder
from onym.testing.tiny_seq2seq import tiny_bart
from onym.train.run import train
from onym.train.sharded import drop_tied_copies, is_sharded, one_embedding, require_shardable
from onym.types import Document, Mention
from tests.decoding.families import FAMILIES
from tests.decoding.families import model as family_model
from tests.train.launched import accelerated
from tests.train.tiny import config, furthest, losses, optim, samples, trained, weights_of

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


@pytest.mark.slow
def test_a_sharded_model_learns_what_a_whole_one_does(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path) -> None:
    still = {"dropout": 0.0, "attention_dropout": 0.0}
    steps = {"steps": 3, "eval_steps": 1, "epsilon": 1e-4}
    whole, parts = (
        config("finetune", model, corpus, kb_folder, start=still, dev={"mentions": 4}, optim=steps | {"batch_size": batch})
        for batch in (8, 4)
    )
    train(whole, tmp_path / "whole")
    accelerated(tmp_path, FSDP, {"parts": parts})
    made = tmp_path / "parts"
    # Its checkpoints are FSDP's: had it not been sharded, the optimizer's would be `optimizer.pt`.
    assert (tmp_path / "parts.work" / "checkpoints" / "checkpoint-3" / "optimizer.bin").is_file()
    assert furthest(load_file(made / "model.safetensors"), load_file(tmp_path / "whole" / "model.safetensors")) < 1e-4
    assert losses(made) == pytest.approx(losses(tmp_path / "whole"), abs=1e-4)

    linker = GenerativeLinker.from_pretrained(made, KnowledgeBase.open(kb_folder), dtype="fp32")
    doc = Document("1", "A fever.", (Mention(2, 7, "fever"),))
    (linked,) = linker.link([doc])
    assert linked.links[0].candidates


def test_weights_that_are_kept_twice_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_shardable("bf16-weights")
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    assert is_sharded()
    with pytest.raises(ConfigError, match="config-invalid"):
        trained(tiny_bart(), samples(4), tmp_path, optim(precision="bf16-weights"))
    require_shardable("bf16")


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"biobart"}))
def test_one_module_says_what_three_said(family: str) -> None:
    model = copy.deepcopy(family_model(family))
    ids = torch.tensor([[3, 5, 7]])
    before, names = model(input_ids=ids, decoder_input_ids=ids).logits, list(model.state_dict())
    assert one_embedding(model) is model
    assert torch.equal(model(input_ids=ids, decoder_input_ids=ids).logits, before)
    assert list(model.state_dict()) == names
    assert model.get_encoder().embed_tokens is model.get_decoder().embed_tokens is model.get_input_embeddings()


def test_an_encoder_has_one_embedding_already() -> None:
    model = tiny_encoder()
    names = list(model.state_dict())
    assert one_embedding(model) is model
    assert list(model.state_dict()) == names


def test_each_weight_once() -> None:
    model = tiny_bart()
    gathered = {name: value.clone() for name, value in weights_of(model).items()}
    assert gathered.keys() - drop_tied_copies(gathered, model).keys() == {
        "lm_head.weight",
        "model.encoder.embed_tokens.weight",
        "model.decoder.embed_tokens.weight",
    }
