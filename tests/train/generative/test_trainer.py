"""Tests of training generative models: batches, loss, dev evaluation, pre-training and fine-tuning."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from onym.datasets import PreparedDataset
from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.methods.generative.decoding.search import SearchConfig
from onym.methods.generative.linker import GenerativeLinker
from onym.models import torch_loading as loading
from onym.train.configs import GenerativeDevConfig
from onym.train.generative.losses import IGNORED
from onym.train.generative.trainer import (
    GenerativeContext,
    GenerativeDev,
    NameCollate,
    NameTrainer,
    finetune,
    head_where,
    linker_of,
    sources_once,
    train_names,
)
from onym.train.run import train
from onym.train.samples.base import Batch, Pair, Sample
from onym.train.samples.mentions import DocMention, MentionSamples, mentions_of
from onym.types import Document, Mention
from tests.methods.generative.decoding.families import FAMILIES
from tests.methods.generative.decoding.families import model as family_model
from tests.support.linking import link_with
from tests.support.models import save_model, save_tokenizer, tiny_bart
from tests.train.adamw import AdamWByHand
from tests.train.made import open_linker, record
from tests.train.tiny import (
    COLLATE,
    EOS,
    START,
    config,
    furthest,
    layout,
    losses,
    optim,
    pairs,
    require_left_alone,
    samples,
    train_model,
    weights_of,
)

OWN_COLLATE = NameCollate(start=5, eos=2, pad=1)
ONE, TWO = Sample([0, 7, 2], [8], [9, 10]), Sample([0, 6, 6, 6, 2], [11, 12, 13], [14])
TOKENS = 40


def test_collates_samples() -> None:
    batch = OWN_COLLATE([ONE, TWO])
    assert batch["input_ids"].tolist() == [[0, 7, 2, 1, 1], [0, 6, 6, 6, 2]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]
    assert batch["decoder_input_ids"].tolist() == [[5, 8, 9, 10, 1], [5, 11, 12, 13, 14]]
    assert batch["labels"].tolist() == [[-100, 9, 10, 2, -100], [-100, -100, -100, 14, 2]]
    assert {value.dtype for value in batch.values()} == {torch.int64}


def test_label_is_the_next_token() -> None:
    """At each labelled position, the decoder input has all previous tokens and none of the later ones."""
    batch = OWN_COLLATE([ONE, TWO])
    for sample, ids, labels in zip((ONE, TWO), batch["decoder_input_ids"].tolist(), batch["labels"].tolist(), strict=True):
        whole = [*sample.prompt, *sample.name, 2]
        labelled = [position for position, label in enumerate(labels) if label != -100]
        assert [labels[position] for position in labelled] == [*sample.name, 2]
        assert all([*ids[1 : position + 1], labels[position]] == whole[: position + 1] for position in labelled)


def test_first_token_has_a_label_without_prompt() -> None:
    assert OWN_COLLATE([Sample([0, 2], [], [9])])["labels"].tolist() == [[9, 2]]


def test_does_not_mask_pad_token_inside_source() -> None:
    assert OWN_COLLATE([Sample([0, 1, 2], [], [9])])["attention_mask"].tolist() == [[1, 1, 1]]


def test_pairs_have_two_rows_with_the_same_source() -> None:
    batch = OWN_COLLATE.pairs([Pair([0, 7, 2], [8], [9], [10, 11], (-1.5, -2.5)), Pair([0, 2], [], [12], [13])])
    assert batch["input_ids"].tolist() == [[0, 7, 2], [0, 7, 2], [0, 2, 1], [0, 2, 1]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 1, 0]]
    assert batch["labels"].tolist() == [[-100, 9, 2, -100], [-100, 10, 11, 2], [12, 2, -100, -100], [13, 2, -100, -100]]
    assert batch["reference"].tolist() == [[-1.5, -2.5], [0.0, 0.0]]


def test_truncates_names_longer_than_max_length() -> None:
    batch = NameCollate(5, 2, 1, max_length=4)([Sample([0, 2], [8], [9, 10, 11, 12])])
    assert batch["decoder_input_ids"].tolist() == [[5, 8, 9, 10]]
    assert batch["labels"].tolist() == [[-100, 9, 10, 11]]


def test_context_uses_the_configuration(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path) -> None:
    training_config = config(
        "finetune", model, corpus, kb_folder,
        start={"window": 24, "template": "genre", "dropout": 0.25},
        dev={"mentions": 3},
        optim={"steps": 7, "batch_size": 3, "gradient_accumulation": 2},
    )  # fmt: skip
    context = GenerativeContext(training_config, tmp_path)
    assert (context.layout.window, context.layout.template.name, context.layout.max_tokens) == (24, "genre", 160)
    assert context.model.model.encoder.dropout == 0.25
    assert (context.collate.start, context.collate.eos, context.collate.pad, context.collate.max_length) == (2, 2, 1, 160)
    assert context.kb.folder.parent == kb_folder
    assert len(context.mentions) == 12
    assert context.dev is not None
    assert len(context.dev) == 3
    assert (context.samples_per_step, context.total_samples) == (6, 42)


def test_freezes_embeddings(tmp_path: Path, model: Path, kb_folder: Path) -> None:
    frozen = GenerativeContext(config("pretrain", model, None, kb_folder, start={"freeze_embeddings": True}), tmp_path).model
    still = {name for name, parameter in frozen.named_parameters() if not parameter.requires_grad}
    assert still == {"model.shared.weight"}


def test_uses_tokenizer_of_another_folder(tmp_path: Path, kb_folder: Path) -> None:
    bare = save_model(tmp_path / "bare", has_tokenizer=False)
    training_config = config("pretrain", bare, None, kb_folder)
    with pytest.raises(ConfigError, match="tokenizer-missing"):
        _ = GenerativeContext(training_config, tmp_path).layout
    start = {"tokenizer": str(save_tokenizer(tmp_path / "tokens"))}
    assert GenerativeContext(config("pretrain", bare, None, kb_folder, start=start), tmp_path).layout.tokens.eos == 2


def test_no_dev_without_dataset_or_mentions(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path) -> None:
    assert GenerativeContext(config("pretrain", model, None, kb_folder, dev={"mentions": 3}), tmp_path).dev is None
    assert GenerativeContext(config("finetune", model, corpus, kb_folder), tmp_path).dev is None


def still_bart(dtype: torch.dtype = torch.float32) -> Any:
    """Return the tiny model without dropout."""
    return tiny_bart(dropout=0.0).to(dtype)


# One training step, computed step by step without the trainer.
def loss_by_hand(model: Any, batch: Sequence[Sample], smoothing: float) -> Tensor:
    """Return the mean loss over the tokens of all names, computed sample by sample and token by token."""
    total, tokens = torch.zeros((), dtype=model.dtype), 0
    for sample in batch:
        written = [*sample.name, EOS]
        ids = torch.tensor([[START, *sample.prompt, *sample.name]])
        logits = model(input_ids=torch.tensor([sample.source]), decoder_input_ids=ids, use_cache=False).logits[0]
        for number, token in enumerate(written):
            log_probs = logits[len(sample.prompt) + number].log_softmax(-1)
            total = total - (1 - smoothing) * log_probs[token] - smoothing * log_probs.mean()
            tokens += 1
    return total / tokens


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "epsilon", "tolerance"), [(torch.float64, 1e-8, 1e-8), (torch.float32, 1e-4, 1e-5)])
def test_steps_match_manual_computation(tmp_path: Path, dtype: torch.dtype, epsilon: float, tolerance: float) -> None:
    """A large epsilon hides the fp32 rounding errors in gradients that should be zero."""
    settings = optim(
        steps=3, eval_steps=3, batch_size=4, gradient_accumulation=2, label_smoothing=0.1, weight_decay=0.5,
        epsilon=epsilon, max_grad_norm=0.5, schedule="linear", warmup_steps=1,
    )  # fmt: skip
    dataset, model = samples(24), still_bart(dtype)
    trainer = train_model(model, dataset, tmp_path, settings)

    expected, by_hand, losses = still_bart(dtype), AdamWByHand(settings), []
    before = weights_of(expected)
    for step, rate in enumerate((0.0, 1e-2, 1e-2 / 2)):  # one warm-up step, then linear decay to zero
        expected.zero_grad()
        loss = loss_by_hand(expected, dataset.samples[step * 8 : step * 8 + 8], 0.1)
        loss.backward()  # type: ignore[no-untyped-call]
        losses.append(loss.item())
        by_hand.step(expected, rate)
    assert furthest(weights_of(model), weights_of(expected)) < tolerance
    assert furthest(before, weights_of(expected)) > 1e-2
    logged = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert logged == pytest.approx(losses, abs=1e-4)


# Tests of which token positions contribute to the loss.
def make_trainer(folder: Path, **more: Any) -> NameTrainer:
    return NameTrainer(still_bart(), samples(4), COLLATE, folder, optim(**more))


def test_loss_sums_over_name_and_end_tokens(tmp_path: Path) -> None:
    trainer, batch = make_trainer(tmp_path, label_smoothing=0.1), samples(6).samples
    model = trainer.accelerator.unwrap_model(trainer.model)
    tokens = sum(len(sample.name) + 1 for sample in batch)
    expected = loss_by_hand(model, batch, 0.1) * tokens
    assert trainer.batch_loss(trainer.model, COLLATE(batch)).item() == pytest.approx(expected.item(), rel=1e-5)


def test_prompt_positions_do_not_affect_the_loss(tmp_path: Path) -> None:
    trainer, batch = make_trainer(tmp_path), COLLATE(samples(6).samples)
    is_labelled, added = batch["labels"] != -100, torch.zeros(*batch["labels"].shape, 16, requires_grad=True)
    states = trainer.model.get_decoder().register_forward_hook(lambda _, __, output: _add(output, added))
    loss = trainer.batch_loss(trainer.model, dict(batch))
    loss.backward()  # type: ignore[no-untyped-call]
    assert added.grad is not None
    assert not added.grad[~is_labelled].any()
    assert added.grad[is_labelled].any(dim=-1).all()
    with torch.no_grad():
        added[~is_labelled] = 7.0
        assert trainer.batch_loss(trainer.model, dict(batch)).item() == loss.item()
        added[is_labelled] = 7.0
        assert trainer.batch_loss(trainer.model, dict(batch)).item() != loss.item()
    states.remove()


def _add(output: Any, added: Tensor) -> Any:
    output.last_hidden_state = output.last_hidden_state + added
    return output


SMALL = sorted(name for name in FAMILIES if name != "biobart")


@pytest.fixture(params=SMALL)
def small_model(request: pytest.FixtureRequest) -> Any:
    """Return a model of each family with random weights, including biases and the head."""
    return family_model(request.param)


def small(batch: Batch) -> Batch:
    """Return the batch with token ids mapped to a vocabulary of 40 tokens."""
    return {
        name: value if name in ("attention_mask", "reference") else torch.where(value == IGNORED, value, value % TOKENS)
        for name, value in batch.items()
    }


def forward(model: Any, batch: Batch) -> Tensor:
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "decoder_input_ids")}
    logits: Tensor = model(**inputs, use_cache=False).logits
    return logits


def rows_of(part: Any, sizes: list[tuple[int, ...]]) -> Any:
    return part.register_forward_hook(lambda _, __, output: sizes.append(tuple(output.shape)))


def test_computes_logits_only_at_wanted_positions(small_model: Any) -> None:
    batch = small(NameCollate(2, 2, 1)(samples(6).samples))
    is_labelled = batch["labels"] != IGNORED
    whole = forward(small_model, batch)
    sizes: list[tuple[int, ...]] = []
    handle = rows_of(small_model.get_output_embeddings(), sizes)
    with head_where(small_model, is_labelled):
        some = forward(small_model, batch)
    handle.remove()
    assert sizes == [(int(is_labelled.sum()), TOKENS)]
    assert some.shape == (int(is_labelled.sum()), TOKENS)
    torch.testing.assert_close(some, whole[is_labelled], rtol=0, atol=1e-5)
    torch.testing.assert_close(forward(small_model, batch), whole)


def test_gradients_match_full_logits(small_model: Any) -> None:
    batch = small(NameCollate(2, 2, 1)(samples(6).samples))
    is_labelled = batch["labels"] != IGNORED
    forward(small_model, batch)[is_labelled].square().sum().backward()  # type: ignore[no-untyped-call]
    whole = {name: parameter.grad for name, parameter in small_model.named_parameters()}
    small_model.zero_grad()
    with head_where(small_model, is_labelled):
        forward(small_model, batch).square().sum().backward()  # type: ignore[no-untyped-call]
    for name, parameter in small_model.named_parameters():
        expected = whole[name]
        assert (parameter.grad is None) == (expected is None)
        if expected is not None:
            torch.testing.assert_close(parameter.grad, expected, rtol=1e-4, atol=1e-4)
    small_model.zero_grad()


def test_encodes_each_source_once(small_model: Any) -> None:
    batch = small(NameCollate(2, 2, 1).pairs(pairs(3).samples))
    whole = forward(small_model, batch)
    sizes: list[tuple[int, ...]] = []
    with sources_once(small_model, 2):
        inner = (
            small_model.get_encoder().layers
            if hasattr(small_model.get_encoder(), "layers")
            else small_model.get_encoder().block
        )
        handle = inner[0].register_forward_pre_hook(lambda _, arguments: sizes.append(tuple(arguments[0].shape)))
        once = forward(small_model, batch)
        handle.remove()
    assert [size[0] for size in sizes] == [3]
    assert len(batch["input_ids"]) == 6
    torch.testing.assert_close(once, whole, rtol=0, atol=1e-5)
    torch.testing.assert_close(forward(small_model, batch), whole)


def test_removes_hooks_after_an_error(small_model: Any) -> None:
    batch = small(NameCollate(2, 2, 1)(samples(2).samples))
    whole = forward(small_model, batch)
    for saving in (head_where(small_model, torch.ones(1, 1, dtype=torch.bool)), sources_once(small_model, 2)):
        with pytest.raises(RuntimeError, match="stop"), saving:
            raise RuntimeError("stop")
    assert torch.equal(forward(small_model, batch), whole)


@pytest.fixture(scope="module")
def kb(kb_folder: Path) -> KnowledgeBase:
    return KnowledgeBase.open(kb_folder)


@pytest.fixture(scope="module")
def mentions(corpus: Path) -> list[DocMention]:
    return [mention for split in ("train", "dev") for mention in mentions_of(PreparedDataset.open(corpus).documents(split))]


@pytest.fixture
def in_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "resolve_precision", lambda *_: "fp32")


@pytest.mark.slow
@pytest.mark.usefixtures("in_fp32")
@pytest.mark.parametrize("search", ["beam", "exact"])
@pytest.mark.parametrize("ranking", ["mean", "sum"])
def test_dev_equals_linker_recall(
    model: Path, kb: KnowledgeBase, mentions: list[DocMention], search: str, ranking: str
) -> None:
    dev = GenerativeDev(mentions, kb, layout(model), GenerativeDevConfig.model_validate({"search": search, "ranking": ranking}))
    linker = GenerativeLinker.from_pretrained(model, kb, window=32, search=search, ranking=ranking, width=5)
    first, any_of_five = 0, 0
    for doc, mention in mentions:
        (linked,) = link_with(linker, [Document(doc.id, doc.text, (mention,))], top_k=99)
        best = [c.score for c in linked.links[0].candidates]
        gold = set(mention.concept_ids)
        right = [c.score for c in linked.links[0].candidates if c.concept_id in gold]
        first += bool(right) and max(right) == max(best)
        any_of_five += bool(right)
    assert len(dev) == len(mentions) == 16
    found = dev(tiny_bart())
    assert found == pytest.approx({"dev_r1": 100 * first / 16, "dev_r5": 100 * any_of_five / 16})
    assert 0 < found["dev_r1"] < found["dev_r5"]


@pytest.mark.usefixtures("in_fp32")
def test_dev_does_not_change_the_model(model: Path, kb: KnowledgeBase, mentions: list[DocMention]) -> None:
    require_left_alone(GenerativeDev(mentions[:4], kb, layout(model), GenerativeDevConfig()), tiny_bart(dropout=0.5).train())


@pytest.mark.usefixtures("in_fp32")
def test_mention_not_in_kb_counts_as_wrong(model: Path, kb: KnowledgeBase) -> None:
    doc = Document("1", "fever", (Mention(0, 5, "fever", ("mesh:D000000",)),))
    assert GenerativeDev([(doc, doc.mentions[0])], kb, layout(model), GenerativeDevConfig())(tiny_bart()) == {
        "dev_r1": 0.0,
        "dev_r5": 0.0,
    }
    assert GenerativeDev([], kb, layout(model), GenerativeDevConfig())(tiny_bart()) == {"dev_r1": 0.0, "dev_r5": 0.0}


@pytest.mark.usefixtures("in_fp32")
def test_linker_uses_a_copy_of_the_current_weights(model: Path, kb: KnowledgeBase, mentions: list[DocMention]) -> None:
    trained = tiny_bart()
    linker = linker_of(trained, kb, layout(model), SearchConfig())
    before = linker.decode_mentions(mentions[:2])
    with torch.no_grad():
        for weights in trained.parameters():
            weights.zero_()
    assert linker.decode_mentions(mentions[:2]) == before
    assert linker_of(trained, kb, layout(model), SearchConfig()).decode_mentions(mentions[:2]) != before


@pytest.mark.slow
def test_pretrains_on_kb_without_dataset(tmp_path: Path, model: Path, kb_folder: Path) -> None:
    made = train(config("pretrain", model, None, kb_folder), tmp_path / "made")
    open_linker(made, kb_folder)
    found = record(made)
    assert (found["stage"], found["corpus"], found["metrics"]) == ("pretrain", {}, {})
    before, after = (load_file(folder / "model.safetensors") for folder in (model, made))
    assert any((before[name] != after[name]).any() for name in before)


@pytest.mark.slow
@pytest.mark.parametrize("mention", ["random", "similar"])
def test_pretraining_with_dataset_evaluates_on_dev(
    tmp_path: Path, model: Path, corpus: Path, kb_folder: Path, mention: str
) -> None:
    training_config = config(
        "pretrain", model, corpus, kb_folder, data={"mention": mention}, dev={"mentions": 2}, optim={"eval_steps": 2}
    )
    assert record(train(training_config, tmp_path / "made"))["metrics"].keys() == {"dev_r1", "dev_r5"}


def run_finetuning(folder: Path, model: Path, corpus: Path, kb: Path, **more: dict[str, Any]) -> Path:
    return train(config("finetune", model, corpus, kb, **more), folder)


@pytest.mark.slow
def test_finetuning_fits_the_training_data(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path) -> None:
    """Recall on train rises from about one third to almost 100 %; this test is slow."""
    optim = {
        "steps": 200,
        "batch_size": 12,
        "eval_steps": 100,
        "learning_rate": 1e-2,
        "label_smoothing": 0.0,
        "schedule": "linear",
    }
    still = {"dropout": 0.0, "attention_dropout": 0.0}
    made = run_finetuning(
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
def test_target_options_change_the_model(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path, target: str) -> None:
    few = run_finetuning(tmp_path / "one", model, corpus, kb_folder, data={"target": target})
    more = run_finetuning(tmp_path / "three", model, corpus, kb_folder, data={"target": target, "names": 3})
    one, other = load_file(few / "model.safetensors"), load_file(more / "model.safetensors")
    are_equal = all((one[name] == other[name]).all() for name in one)
    assert are_equal == (target == "sampled")


def test_rejects_dataset_without_linkable_mentions(tmp_path: Path, model: Path, corpus: Path) -> None:
    (tmp_path / "other.tsv").write_text("id\tname\nmesh:D000001\tother\n")
    build_kb(Recipe.of({"sources": [{"path": "other.tsv"}]}), tmp_path / "kb", root=tmp_path)
    with pytest.raises(InputError, match="training-empty") as caught:
        finetune(GenerativeContext(config("finetune", model, corpus, tmp_path / "kb"), tmp_path / "work"))
    assert caught.value.code == "training-empty"


@pytest.mark.slow
def test_trainer_uses_settings_and_skips_finished_run(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path) -> None:
    context = GenerativeContext(
        config("finetune", model, corpus, kb_folder, dev={"mentions": 2}, optim={"eval_steps": 2}), tmp_path / "work"
    )
    samples = MentionSamples(context.mentions, context.kb, context.layout, count=context.total_samples)
    trainer = train_names(context, samples)
    assert trainer.state.global_step == context.config.optim.steps
    assert trainer.metrics().keys() == {"dev_r1", "dev_r5"}
    again = train_names(context, samples)  # the run is already finished, so this only loads the last checkpoint
    assert again.state.global_step == trainer.state.global_step
    assert again.state.total_flos == trainer.state.total_flos
