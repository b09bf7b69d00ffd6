"""Tests of running a training stage, and of the model folder that it publishes."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from onym.datasets import PreparedDataset
from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.models import device
from onym.store.models import weights_digest
from onym.store.output import whole_folder
from onym.train import run as publish
from onym.train import run as run_module
from onym.train.configs import MODEL_CONFIGS, GenerativeTrainingConfig
from onym.train.run import RECIPES, train
from tests.support.models import SPECIAL, save_tokenizer
from tests.train.made import open_linker, record
from tests.train.tiny import config

FILES = {
    "README.md", "config.json", "generation_config.json", "log.jsonl", "model.safetensors", "onym.json", "tokenizer.json",
    "training.json",
}  # fmt: skip


def test_each_stage_has_a_recipe() -> None:
    assert RECIPES.keys() == MODEL_CONFIGS.keys()


def test_rejects_existing_output(tmp_path: Path, model: Path, kb_folder: Path) -> None:
    (tmp_path / "made").mkdir()
    with pytest.raises(ConfigError, match="output-exists"):
        train(config("pretrain", model, None, kb_folder), tmp_path / "made")
    assert not (tmp_path / "made.work").exists()


@pytest.mark.slow
def test_rejects_another_configuration_in_same_folder(
    tmp_path: Path, model: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise RuntimeError("stopped")

    with monkeypatch.context() as patched:
        patched.setattr(run_module, "publish", stop)
        with pytest.raises(RuntimeError, match="stopped"):
            train(config("pretrain", model, None, kb_folder), tmp_path / "made")
    with pytest.raises(ConfigError, match="training-other"):
        train(config("pretrain", model, None, kb_folder, optim={"learning_rate": 1e-3}), tmp_path / "made")
    assert not (tmp_path / "made").exists()
    open_linker(train(config("pretrain", model, None, kb_folder), tmp_path / "made"), kb_folder)


@pytest.mark.parametrize(("has_bf16", "precision"), [(False, "fp32"), (True, "bf16-weights")])
def test_records_resolved_precision(
    tmp_path: Path, model: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch, has_bf16: bool, precision: str
) -> None:
    """A run that is resumed on another machine must not silently change its precision."""

    def stop(context: Any) -> NoReturn:
        raise RuntimeError(context.config.optim.precision)

    def run() -> None:
        train(config("pretrain", model, None, kb_folder, optim={"precision": "auto", "device": "cpu"}), tmp_path / "made")

    monkeypatch.setitem(RECIPES, "pretrain", RECIPES["pretrain"]._replace(train=stop))
    monkeypatch.setattr(device, "_has_bf16", lambda _: has_bf16)
    with pytest.raises(RuntimeError, match=f"^{precision}$"):
        run()
    monkeypatch.setattr(device, "_has_bf16", lambda _: not has_bf16)
    with pytest.raises(ConfigError, match="training-other"):
        run()


def training_config(model: Path, corpus: Path, kb_folder: Path, **more: dict[str, Any]) -> GenerativeTrainingConfig:
    tables = {"dev": {"mentions": 2, "search": "exact", "ranking": "sum"}, "start": {"template": "genre", "window": 24}}
    return config("finetune", model, corpus, kb_folder, **(tables | {"optim": {"eval_steps": 2}} | more))


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory, model: Path, corpus: Path, kb_folder: Path) -> Path:
    return train(training_config(model, corpus, kb_folder), tmp_path_factory.mktemp("published") / "linker")


@pytest.mark.slow
def test_model_folder_stores_template_window_search_and_ranking(run_folder: Path, kb_folder: Path) -> None:
    found = open_linker(run_folder, kb_folder).config
    assert (found["template"], found["window"]) == ("genre", 24)
    assert (found["search"]["search"], found["search"]["ranking"]) == ("exact", "sum")


def test_model_folder_has_all_files(run_folder: Path, model: Path) -> None:
    assert {path.name for path in run_folder.iterdir()} == FILES
    assert (run_folder / "tokenizer.json").read_bytes() == (model / "tokenizer.json").read_bytes()
    assert (run_folder / "log.jsonl").read_text() == (run_folder.with_name("linker.work") / "log.jsonl").read_text()
    assert {stat.S_IMODE(path.stat().st_mode) & 0o444 for path in run_folder.iterdir()} == {0o444}
    assert (run_folder / "README.md").read_text().startswith("---\nlibrary_name: onym\n")


def test_record_has_digests_and_configuration(run_folder: Path, model: Path, corpus: Path, kb_folder: Path) -> None:
    found = record(run_folder)
    assert found["kb"] == {"digest": KnowledgeBase.open(kb_folder).digest, "concepts": 3, "names": 9}
    dataset = PreparedDataset.open(corpus)
    assert found["corpus"] == {"name": "ncbi-disease", "digest": dataset.digest, "overlap": dataset.report["overlap"]}
    assert found["corpus"]["overlap"]["dev in train"]["mentions"] == 4
    assert found["start_weights"] == weights_digest(model)
    assert GenerativeTrainingConfig.of(found["config"]) == training_config(model, corpus, kb_folder)
    assert found["versions"].keys() == {"onym", "torch", "transformers", "accelerate"}
    assert found["versions"]["torch"] == torch.__version__
    assert found["metrics"].keys() == {"dev_r1", "dev_r5"}
    assert (found["steps"], found["stages"], found["start"]) == (4, ["finetune"], "tiny-bart")


def test_record_has_no_local_paths_outside_the_configuration(
    run_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    base = str(tmp_path_factory.getbasetemp())
    for path in run_folder.iterdir():
        text = path.read_bytes().decode("utf-8", "replace")
        if path.name == "training.json":
            text = json.dumps({key: value for key, value in record(run_folder).items() if key != "config"})
        assert base not in text, path.name


@pytest.mark.slow
def test_second_stage_records_the_first(tmp_path: Path, run_folder: Path, corpus: Path, kb_folder: Path) -> None:
    again = train(config("prefer", run_folder, corpus, kb_folder), tmp_path / "better")
    found = record(again)
    assert (found["first_start"], found["start"], found["stages"]) == ("tiny-bart", "linker", ["finetune", "prefer"])
    assert found["start_weights"] == weights_digest(run_folder)
    assert found["hours_in_all"] >= record(run_folder)["hours_in_all"]


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16", "bf16-weights"])
def test_weights_are_fp32_and_reproducible(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path, precision: str) -> None:
    optim = {"eval_steps": 2, "precision": precision}
    one, two = (train(training_config(model, corpus, kb_folder, optim=optim), tmp_path / name) for name in ("one", "two"))
    assert weights_digest(one) == weights_digest(two)
    assert {value.dtype for value in load_file(one / "model.safetensors").values()} == {torch.float32}
    assert json.loads((one / "config.json").read_text())["dtype"] == "float32"


@pytest.mark.slow
def test_publishes_bart_warm_started_from_encoder(tmp_path: Path, kb_folder: Path) -> None:
    from transformers import RobertaConfig, RobertaModel

    sizes: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    shape = RobertaConfig(vocab_size=420, max_position_embeddings=162, type_vocab_size=1, **sizes)
    assert SPECIAL.index("</s>") == shape.eos_token_id
    RobertaModel(shape).save_pretrained(tmp_path / "encoder")
    save_tokenizer(tmp_path / "encoder")
    made = train(config("pretrain", tmp_path / "encoder", None, kb_folder), tmp_path / "made")
    open_linker(made, kb_folder)
    assert record(made)["first_start"] == "encoder"


def test_write_failure_of_weights_raises_coded_error(tmp_path: Path) -> None:
    class Full:
        def write(self, _folder: Path) -> None:
            raise SafetensorError("I/O error: No space left on device")

    with pytest.raises(ConfigError, match="No space left") as e, whole_folder(tmp_path / "model") as folder:
        publish._write_weights(Full(), folder.path)  # type: ignore[arg-type]
    assert e.value.code == "output-failed"
    assert list(tmp_path.iterdir()) == []
