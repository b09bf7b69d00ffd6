"""Tests of the generative linker: results are always names of the knowledge base, with the model's own scores."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.ranking import concepts_of_types, concepts_with_ids, names_of
from onym.kb.recipe import Recipe
from onym.methods.generative.linker import GenerativeLinker, GenerativeLinkerConfig, ModelSettings
from onym.methods.generative.template import GENBIOEL, GENRE, Template
from onym.models.tokens import Tokenizer
from onym.parts import OpenContext
from onym.text.queries import queries_of
from onym.types import Candidate, Document, Mention
from tests.support.linking import link_with
from tests.support.models import add_defaults, save_model, save_tokenizer, tiny_bart
from tests.threads import one_thread

TEXT = "He had a heart attack, then fever and high blood pressure."


def document(text: str = TEXT, *surfaces: str, doc_id: str = "1") -> Document:
    """Return a document with the first occurrence of each surface as a mention."""
    rows = [(text.index(surface), surface) for surface in surfaces]
    return Document(doc_id, text, tuple(Mention(start, start + len(surface), surface) for start, surface in rows))


DOC = document(TEXT, "heart attack", "fever", "high blood pressure")


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("model") / "tiny-bart")


@pytest.fixture
def kb(tmp_path: Path, tiny_kb: Path) -> KnowledgeBase:
    """Return a copy of the knowledge base, because a trie will be stored with it."""
    return KnowledgeBase.open(shutil.copytree(tiny_kb, tmp_path / "kb"))


def kb_of(folder: Path, table: str) -> KnowledgeBase:
    (folder / "table.tsv").write_text(table)
    build_kb(Recipe.of({"sources": [{"path": "table.tsv"}]}), folder / "own-kb", root=folder)
    return KnowledgeBase.open(folder / "own-kb")


def open_in_fp32(model: Path, kb: KnowledgeBase, template: Template = GENBIOEL, **options: Any) -> GenerativeLinker:
    """Return the linker in fp32 on any machine."""
    return GenerativeLinker.from_pretrained(model, kb, template=template.name, dtype="fp32", **options)


def answers(linker: GenerativeLinker, doc: Document = DOC, **options: Any) -> list[tuple[Candidate, ...]]:
    (linked,) = link_with(linker, [doc], **options)
    assert [link.mention for link in linked.links] == list(doc.mentions)
    return [link.candidates for link in linked.links]


def kb_names(kb: KnowledgeBase) -> list[str]:
    return [kb.names[row] for row in range(len(kb.names))]


def score_forced(folder: Path, mention: Mention, name: str, template: Template, text: str = TEXT) -> tuple[float, int]:
    """Return the log-probability of a name by transformers' forward pass, and its number of tokens, including the end token."""
    from transformers import BartForConditionalGeneration

    model, tokens = BartForConditionalGeneration.from_pretrained(folder).eval(), Tokenizer.open(folder)
    source = template.source_ids(text, mention.start, mention.end, tokens, budget=128)
    before = [model.config.decoder_start_token_id, *template.prompt_ids(mention.surface, tokens)]
    target = [*tokens.ids(template.name_text(name)), tokens.eos]
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([before + target[:-1]])).logits[0]
    chances = torch.log_softmax(logits[len(before) - 1 :], dim=-1)
    return float(sum(chances[row, token] for row, token in enumerate(target))), len(target)


# Results.


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("search", ["beam", "exact"])
def test_each_answer_is_a_name_of_the_knowledge_base(tmp_path: Path, kb: KnowledgeBase, seed: int, search: str) -> None:
    linker = open_in_fp32(save_model(tmp_path / "model", seed), kb, search=search)
    for candidates in answers(linker):
        assert candidates
        scores = [candidate.score for candidate in candidates]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] < 0
        for candidate in candidates:
            assert candidate.name in [term.form for term in kb[candidate.concept_id].terms]


@pytest.mark.parametrize("template", [GENBIOEL, GENRE], ids=lambda template: template.name)
@pytest.mark.parametrize("ranking", ["mean", "sum"])
def test_scores_are_those_of_the_models_own_forward_pass(
    model: Path, kb: KnowledgeBase, template: Template, ranking: str
) -> None:
    linker = open_in_fp32(model, kb, template, ranking=ranking)
    for mention, candidates in zip(DOC.mentions, answers(linker), strict=True):
        for candidate in candidates:
            log_prob, tokens = score_forced(model, mention, candidate.name, template)
            expected = log_prob / tokens if ranking == "mean" else log_prob
            assert candidate.score == pytest.approx(expected, abs=1e-4)


def test_the_prompt_matters(model: Path, kb: KnowledgeBase) -> None:
    assert answers(open_in_fp32(model, kb)) != answers(open_in_fp32(model, kb, GENRE))


def test_exact_search_agrees_with_scoring_each_name(model: Path, kb: KnowledgeBase) -> None:
    linker = open_in_fp32(model, kb, search="exact", ranking="mean", width=3)
    decoded = linker.decode(queries_of(DOC))
    assert all(each.is_proved for each in decoded)
    for mention, candidates in zip(DOC.mentions, answers(linker), strict=True):
        all_names = (score_forced(model, mention, name, GENBIOEL) for name in kb_names(kb))
        assert candidates[0].score == pytest.approx(max(log_prob / tokens for log_prob, tokens in all_names), abs=1e-4)


def test_returns_at_most_top_k_candidates(model: Path, kb: KnowledgeBase) -> None:
    linker = open_in_fp32(model, kb)
    whole, short = answers(linker), answers(linker, top_k=1)
    assert [each[:1] for each in whole] == short
    assert max(map(len, whole)) > 1


# Restrictions.


def test_links_only_allowed_concepts(model: Path, kb: KnowledgeBase) -> None:
    linker = open_in_fp32(model, kb)
    only = concepts_of_types(kb, ["C23"])
    for candidates in answers(linker, only=only):
        assert {candidate.concept_id for candidate in candidates} == {"mesh:D005334"}
    assert {c.concept_id for each in answers(linker) for c in each} > {"mesh:D005334"}


def test_restriction_leaves_the_beam_to_allowed_names(model: Path, kb: KnowledgeBase) -> None:
    only = concepts_with_ids(kb, ["D005334"])
    linker = open_in_fp32(model, kb, width=3)
    for decoded in linker.decode(queries_of(DOC), linker.trie.restriction(names_of(kb, only))):
        found = {kb.names[name] for each in decoded.hypotheses for name in linker.trie.names_at(each.leaf)}
        assert found == {"fever", "pyrexia", "hyperthermia"}


def test_shared_name_gives_only_the_allowed_concept(model: Path, kb: KnowledgeBase) -> None:
    only = concepts_with_ids(kb, ["D006973"])
    for candidates in answers(open_in_fp32(model, kb), only=only):
        assert [candidate.concept_id for candidate in candidates] == ["mesh:D006973"]


def test_empty_filter_gives_no_candidates(model: Path, kb: KnowledgeBase) -> None:
    assert answers(open_in_fp32(model, kb), only=np.zeros(len(kb), dtype=bool)) == [(), (), ()]


# Tests of mapping generated names to concepts.


def test_concepts_that_share_the_best_name_are_tied(tmp_path: Path, model: Path) -> None:
    kb = kb_of(tmp_path, "id\tname\nmesh:D2\tmi\nmesh:D1\tmi\n")
    for linked in link_with(open_in_fp32(model, kb), [DOC]):
        for link in linked.links:
            assert [candidate.concept_id for candidate in link.candidates] == ["mesh:D1", "mesh:D2"]
            assert link.tied == 1


@pytest.mark.parametrize("pooling", ["best", "sum"])
def test_pooling(model: Path, kb: KnowledgeBase, pooling: str) -> None:
    linker = open_in_fp32(model, kb, pooling=pooling, width=10)
    for decoded, candidates in zip(linker.decode(queries_of(DOC)), answers(linker), strict=True):
        scores: dict[str, list[float]] = {}
        for each in decoded.hypotheses:
            (name,) = linker.trie.names_at(each.leaf)
            for concept in kb.name_concepts[int(name)]:
                score = each.score("mean") if pooling == "best" else each.log_prob
                scores.setdefault(kb.concept_ids[int(concept)], []).append(score)
        assert max(len(found) for found in scores.values()) > 2
        expected = {key: max(found) if pooling == "best" else np.log(np.exp(found).sum()) for key, found in scores.items()}
        assert {c.concept_id: c.score for c in candidates} == pytest.approx(expected)


def test_names_with_the_same_tokens_count_once_in_a_sum(tmp_path: Path) -> None:
    """The tokenizer knows neither word, so both names have the same trie path; its probability must be counted once."""
    kb = kb_of(tmp_path, "id\tname\tsynonyms\nmesh:D1\tfoo\tbar\nmesh:D2\tbar\t\n")
    words = {"</s>": 2, "<pad>": 1, "<s>": 0, "<unk>": 3}
    level = {"type": "WordLevel", "vocab": words, "unk_token": "<unk>"}
    folder = save_model(tmp_path / "model", has_tokenizer=False)
    described = {"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "WhitespaceSplit"}, "model": level}
    (folder / "tokenizer.json").write_text(json.dumps(described))
    linker = open_in_fp32(folder, kb, pooling="sum")
    ((hypothesis,),) = (decoded.hypotheses for decoded in linker.decode(queries_of(document(TEXT, "fever"))))
    assert len(linker.trie.names_at(hypothesis.leaf)) == 2
    (candidates,) = answers(linker, document(TEXT, "fever"))
    assert {(c.concept_id, c.score) for c in candidates} == {("mesh:D1", hypothesis.log_prob), ("mesh:D2", hypothesis.log_prob)}


# Documents.


def test_documents_without_mentions_and_batches(model: Path, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.pipeline.pipeline._BATCH", 2)
    monkeypatch.setattr("onym.pipeline.pipeline._TERM", 0)
    linker = open_in_fp32(model, kb)
    documents = [document("", doc_id="a"), document(TEXT, "fever", doc_id="b"), document(TEXT, doc_id="c"), DOC]
    linked = list(link_with(linker, iter(documents)))
    assert [each.document for each in linked] == documents
    assert [len(each.links) for each in linked] == [0, 1, 0, 3]
    alone, together = linked[1].links[0].candidates, linked[3].links[1].candidates
    assert [candidate.name for candidate in alone] == [candidate.name for candidate in together]
    assert [candidate.score for candidate in alone] == pytest.approx([candidate.score for candidate in together], abs=1e-4)
    assert list(link_with(linker, [])) == []


def test_truncates_long_documents_mentions_and_names(tmp_path: Path, model: Path) -> None:
    """The tiny model accepts at most 160 positions, and all inputs here are longer."""
    kb = kb_of(tmp_path, f"id\tname\nmesh:D1\t{'x' * 300}\nmesh:D2\tfever\n")
    long = "a b " * 2000
    doc = Document("1", long + TEXT, (Mention(0, 7999, long[:-1]), Mention(len(long), len(long) + 2, "He")))
    linker = open_in_fp32(model, kb, window=5000)
    for candidates in answers(linker, doc):
        assert {candidate.concept_id for candidate in candidates} == {"mesh:D1", "mesh:D2"}


# Tests of the files in a model's folder.


@pytest.mark.parametrize("template", [GENBIOEL, GENRE], ids=lambda template: template.name)
def test_defaults_of_generate_change_nothing(tmp_path: Path, model: Path, kb: KnowledgeBase, template: Template) -> None:
    """`no_repeat_ngram_size` would forbid repeating the mention, and `forced_bos_token_id` all names; both must be ignored."""
    described = add_defaults(shutil.copytree(model, tmp_path / "told"))
    assert answers(open_in_fp32(described, kb, template)) == answers(open_in_fp32(model, kb, template))


def test_a_tokenizer_of_another_folder(tmp_path: Path, model: Path, kb: KnowledgeBase) -> None:
    bare = save_model(tmp_path / "bare", has_tokenizer=False)
    with pytest.raises(ConfigError, match="tokenizer-missing"):
        GenerativeLinker.from_pretrained(bare, kb)
    linker = GenerativeLinker.from_pretrained(bare, kb, tokenizer=save_tokenizer(tmp_path / "tokens"), dtype="fp32")
    assert answers(linker) == answers(open_in_fp32(model, kb))
    with pytest.raises(ConfigError, match="model-missing"):
        GenerativeLinker.from_pretrained(bare, kb, tokenizer="facebook/bart-large")


def test_rejects_tokenizer_with_more_tokens_than_the_model(tmp_path: Path, kb: KnowledgeBase) -> None:
    tokens = save_tokenizer(tmp_path / "tokens", more=200)
    with pytest.raises(ConfigError, match="model-tokenizer"):
        GenerativeLinker.from_pretrained(save_model(tmp_path / "model", has_tokenizer=False), kb, tokenizer=tokens)


def test_rejects_tokenizer_with_another_end_token(tmp_path: Path, kb: KnowledgeBase) -> None:
    model = save_model(tmp_path / "model", eos_token_id=3)
    with pytest.raises(ConfigError, match="model-tokenizer"):
        GenerativeLinker.from_pretrained(model, kb)


def test_rejects_folder_without_a_model(tmp_path: Path, kb: KnowledgeBase) -> None:
    with pytest.raises(ConfigError, match="model-missing"):
        GenerativeLinker.from_pretrained(save_tokenizer(tmp_path / "empty"), kb)
    with pytest.raises(ConfigError, match="model-missing"):
        GenerativeLinker.from_pretrained(tmp_path / "none", kb)


def test_no_network_unless_it_is_requested(
    tmp_path: Path, model: Path, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []

    def refuse(*args: Any, **_: Any) -> Any:
        calls.append(args)
        raise OSError("no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr("onym.store.models.fetch_model", refuse)
    assert answers(open_in_fp32(model, kb))
    with pytest.raises(ConfigError, match="model-missing"):
        GenerativeLinker.from_pretrained("dmis-lab/ANGEL_ncbi", kb)
    assert calls == []
    with pytest.raises(OSError, match="no network"):
        GenerativeLinker.from_pretrained("dmis-lab/ANGEL_ncbi", kb, context=OpenContext(download=True))
    assert [name for name, _ in calls] == ["dmis-lab/ANGEL_ncbi"]


def test_downloads_no_weights_for_a_tokenizer(model: Path, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[tuple[str, tuple[str, ...]]] = []

    def fetch(name: str, files: tuple[str, ...]) -> Path:
        fetched.append((name, files))
        return model

    monkeypatch.setattr("onym.store.models.fetch_model", fetch)
    context = OpenContext(download=True)
    linker = GenerativeLinker.from_pretrained("lab/model", kb, tokenizer="lab/tokens", dtype="fp32", context=context)
    assert dict(fetched)["lab/tokens"] == ("tokenizer.json",)
    assert "*.safetensors" in dict(fetched)["lab/model"]
    assert linker.config["model"] == "lab/model"


# Tests of the trie, and of the configuration recorded with results.


def test_the_trie_is_kept_with_the_knowledge_base_and_found_again(
    model: Path, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_in_fp32(model, kb)
    (kept,) = (kb.folder.parent / "tries").iterdir()
    assert first.trie.digest == (kept / "CURRENT").read_text().strip()[:16]

    def build_again(*_: Any, **__: Any) -> None:
        raise AssertionError("the trie was built again")

    monkeypatch.setattr("onym.methods.generative.trie.artefact.write_trie", build_again)
    assert open_in_fp32(model, kb).trie.digest == first.trie.digest
    with pytest.raises(AssertionError, match="built again"):
        open_in_fp32(model, kb, GENRE)


def test_config_records_what_results_depend_on(tmp_path: Path, model: Path, kb: KnowledgeBase) -> None:
    linker = open_in_fp32(model, kb, window=64)
    config = json.loads(json.dumps(linker.config))
    assert (config["linker"], config["model"], config["template"]) == ("generative", "tiny-bart", "genbioel")
    assert (config["precision"], config["window"], config["search"]["width"]) == ("float32", 64, 5)
    assert config["parameters"] == sum(weights.numel() for weights in tiny_bart().parameters())
    assert config["tokenizer"] == Tokenizer.open(model).digest
    other = save_model(tmp_path / "other", seed=1)
    assert open_in_fp32(other, kb).config["weights"] != config["weights"]


def test_linker_from_open_components(model: Path, kb: KnowledgeBase) -> None:
    first = open_in_fp32(model, kb)
    again = GenerativeLinker(
        kb, first._adapter, first._tokenizer, GenerativeLinkerConfig(window=64), trie=first.trie, about={"model": "mine"}
    )
    assert again.trie is first.trie
    assert (again.config["model"], again.config["window"], again.config["template"]) == ("mine", 64, "genbioel")
    assert [[c.name for c in each] for each in answers(again)] == [[c.name for c in each] for each in answers(first)]


def test_another_way_to_search_with_the_same_model(model: Path, kb: KnowledgeBase) -> None:
    linker = open_in_fp32(model, kb, window=64)
    exact = linker.with_search(search="exact", top_k=2)
    assert exact.trie is linker.trie
    assert (exact.config["search"]["search"], exact.config["window"]) == ("exact", 64)
    assert linker.config["search"]["search"] == "beam"
    assert all(each.is_proved for each in exact.decode(queries_of(DOC)))
    assert all(len(each.hypotheses) == 2 for each in exact.decode(queries_of(DOC)))


# Settings in a model's folder: they are the defaults of options, and a broken file is an error.


def test_settings_round_trip(tmp_path: Path) -> None:
    own = ModelSettings(template="genre", window=64, search="exact", ranking="sum")
    (tmp_path / ModelSettings.FILE).write_bytes(own.to_bytes())
    assert ModelSettings.read(tmp_path) == own
    assert ModelSettings.read(tmp_path) != ModelSettings()


def test_settings_of_a_folder_without_any(tmp_path: Path) -> None:
    plain = ModelSettings(template="genbioel", window=128, search="beam", ranking="mean")
    assert ModelSettings.read(tmp_path) == plain == ModelSettings()


def test_options_override_the_models_settings() -> None:
    own = ModelSettings(window=64, ranking="sum")
    silent = GenerativeLinkerConfig(width=3).resolve(own)
    assert (silent.template, silent.window, silent.search, silent.ranking) == ("genbioel", 64, "beam", "sum")
    spoken = GenerativeLinkerConfig(window=32, search="exact", template="genre").resolve(own)
    assert (spoken.template, spoken.window, spoken.search, spoken.ranking) == ("genre", 32, "exact", "sum")
    assert silent.width == 3
    assert own.window == 64


def test_a_model_is_used_as_its_folder_says(tmp_path: Path, model: Path, kb: KnowledgeBase) -> None:
    folder = shutil.copytree(model, tmp_path / "own")
    (folder / ModelSettings.FILE).write_bytes(ModelSettings(template="genre", window=64, search="exact").to_bytes())
    own = GenerativeLinker.from_pretrained(folder, kb).config
    assert (own["template"], own["window"], own["search"]["search"]) == ("genre", 64, "exact")
    overridden = GenerativeLinker.from_pretrained(folder, kb, window=32, search="beam").config
    assert (overridden["template"], overridden["window"], overridden["search"]["search"]) == ("genre", 32, "beam")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("{", "the file"),
        ("[]", "the file"),
        ('{"window": 4}', "window"),
        ('{"search": "wide"}', "search"),
        ('{"beams": 5}', "beams"),
    ],
)
def test_a_broken_file_of_settings(tmp_path: Path, text: str, key: str) -> None:
    (tmp_path / ModelSettings.FILE).write_text(text)
    with pytest.raises(InputError, match="model-malformed") as caught:
        ModelSettings.read(tmp_path)
    assert caught.value.what.startswith(key)
    assert caught.value.where == str(tmp_path / ModelSettings.FILE)


@pytest.mark.parametrize("option", [{"search": "wide"}, {"window": 4}, {"width": 0}, {"device": "gpu"}, {"beams": 5}])
def test_options_are_checked(model: Path, kb: KnowledgeBase, option: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        GenerativeLinker.from_pretrained(model, kb, **option)


# A model of the size of published checkpoints.


@pytest.mark.slow
def test_a_model_of_the_shape_of_bart_large_in_the_layout_of_angel(tmp_path: Path, kb: KnowledgeBase) -> None:
    """BART-large: 12 + 12 layers, dimension 1024, 50,265 tokens; weights, and a config.json with BART's `generate` defaults."""
    folder = tmp_path / "ANGEL_ncbi"
    try:
        save_large(folder)
        with pytest.raises(ConfigError, match="tokenizer-missing"):
            GenerativeLinker.from_pretrained(folder, kb)
        linker = GenerativeLinker.from_pretrained(folder, kb, tokenizer=save_tokenizer(tmp_path / "tokens"))
        assert linker.config["parameters"] == 406_291_456
        for candidates in answers(linker, document(TEXT, "heart attack", "fever")):
            assert {candidate.name for candidate in candidates} <= set(kb_names(kb))
            assert all(np.isfinite(candidate.score) and candidate.score < 0 for candidate in candidates)
            assert candidates
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def save_large(folder: Path) -> None:
    """Write random bf16 weights of BART-large directly to the file, because initialising the model takes a minute."""
    from safetensors.torch import save_file
    from transformers import BartConfig, BartForConditionalGeneration

    sizes: dict[str, Any] = {"vocab_size": 50_265, "d_model": 1024, "max_position_embeddings": 1024}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": 12, f"{side}_attention_heads": 16, f"{side}_ffn_dim": 4096}
    config = BartConfig(**sizes)
    with torch.device("meta"):
        shapes = {name: tensor.shape for name, tensor in BartForConditionalGeneration(config).state_dict().items()}
    tied = {"lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"}
    noise = (torch.randn(1_000_003, generator=torch.Generator().manual_seed(1)) * 0.03).bfloat16()
    weights = {name: draw_noise(name, shape, noise) for name, shape in shapes.items() if name not in tied}
    config.save_pretrained(folder)
    add_defaults(folder)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def draw_noise(name: str, shape: torch.Size, noise: torch.Tensor) -> torch.Tensor:
    if "norm" in name and name.endswith("weight"):
        return torch.ones(shape, dtype=torch.bfloat16)
    return noise.repeat(shape.numel() // len(noise) + 1)[: shape.numel()].reshape(shape)
