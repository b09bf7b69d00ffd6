"""Hostile configurations: sizes, types and numbers; references to code, other files, adapters and kernels; links and pipes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tests.robustness.models.case import (  # fmt: skip
    Case,
    Evil,
    Kind,
    Spoil,
    both,
    change_json,
    code,
    folder_instead,
    in_turn,
    link,
    pipe,
    tensors,
    text,
    value,
    without,
    write_pickle,
)

CONFIG = "config.json"
_LAYERS = {"encoder": "num_hidden_layers", "bart": "decoder_layers", "t5": "num_layers", "collective": "num_hidden_layers"}
_WIDTH = {"encoder": "hidden_size", "bart": "d_model", "t5": "d_model", "collective": "hidden_size"}
_EPSILON = {"encoder": "layer_norm_eps", "t5": "layer_norm_epsilon", "collective": "layer_norm_eps"}
_DEEP = "[" * 100_000 + "]" * 100_000


def _config(**changes: Any) -> Spoil:
    return change_json(CONFIG, **changes)


def _rewrite_config(change: Callable[[str], str | bytes]) -> Spoil:
    return lambda folder: text(CONFIG, change((folder / CONFIG).read_text()))(folder)


def _sizes(kind: Kind) -> dict[str, Spoil]:
    layers, width = _LAYERS[kind], _WIDTH[kind]
    found = {
        "layers-200000": _config(**{layers: 200_000}),
        "layers-64": _config(**{layers: 64}),
        "layers-none": _config(**{layers: 0}),
        "layers-negative": _config(**{layers: -1}),
        "layers-text": _config(**{layers: "many"}),
        "layers-list": _config(**{layers: [1] * 1000}),
        "layers-digits": _rewrite_config(lambda data: data.replace("{", '{"x": ' + "9" * 10_000 + ",", 1)),
        "vocabulary-10-to-12": _config(vocab_size=10**12),
        "vocabulary-4-million": _config(vocab_size=4_000_000),
        "width-100000": _config(**{width: 100_000}),
        "width-10-to-30": _config(**{width: 10**30}),
        "width-fraction": _config(**{width: 16.5}),
        "width-none": _config(**{width: None}),
        "pad-outside": _config(pad_token_id=10**6),
        "pad-negative": _config(pad_token_id=-7),
        "pad-text": _config(pad_token_id="<pad>"),
    }
    if kind in _EPSILON:
        key = _EPSILON[kind]
        found |= {f"epsilon-{number}": _config(**{key: float(number)}) for number in ("nan", "inf", "-1")}
        found["epsilon-1e999"] = both(_config(**{key: "@"}), _rewrite_config(lambda data: data.replace('"@"', "1e999")))
    return found


_NAMES: dict[str, Spoil] = {
    "own-code": both(code("evil.py"), _config(auto_map={"AutoConfig": "evil.C", "AutoModel": "evil.M",
                                                         "AutoModelForSeq2SeqLM": "evil.M"}, trust_remote_code=True)),
    "own-code-family": both(code("evil.py"), _config(model_type="evil", auto_map={"AutoConfig": "evil.C"})),
    "own-code-elsewhere": both(code("../outside/evil.py"), _config(auto_map={"AutoConfig": "../outside--evil.C"})),
    "target": both(code("evil.py"), _config(_target_="evil.run", _args_=["x"])),
    "architecture": both(code("evil.py"), _config(architectures=["evil.M", "os.system"])),
    "family-of-another-kind": _config(model_type="gpt2"),
    "family-number": _config(model_type=3),
    "family-path": _config(model_type="../outside"),
    "weights-elsewhere": _config(transformers_weights="../outside/model.safetensors"),
    "weights-named": both(write_pickle("evil.bin"), _config(transformers_weights="evil.bin")),
    "name-elsewhere": _config(_name_or_path="../outside", name_or_path="../outside"),
    "kernel": _config(attn_implementation="evil/kernel", _attn_implementation="evil/kernel"),
    "kernel-internal": _config(_attn_implementation_internal="evil/kernel:run", use_kernels=True),
    "kernel-files": both(code("torch-ext/__init__.py", "build/evil.py"), text("kernels.lock", "[]"),
                         text("build.toml", "[general]\nname='evil'"), _config(kernel_config={"Linear": "evil/kernel:Linear"})),
    "flash": _config(attn_implementation="flash_attention_2"),
    "quantised-bitsandbytes": _config(quantization_config={"quant_method": "bitsandbytes", "load_in_8bit": True}),
    "quantised-gptq": _config(quantization_config={"quant_method": "gptq", "bits": 4}),
    "quantised-evil": _config(quantization_config={"quant_method": "evil", "modules": ["evil.M"]}),
    "layers-of-their-own": _config(per_layer_config={"0": {"num_attention_heads": 10**9}}),
    "fusion": _config(fusion_config={"patch_embeddings": {"cls": "evil.M"}}),
    "parallel": _config(distributed_config={"tp_plan": "auto"}, base_model_tp_plan={"*": "evil"}),
    "type-evil": _config(dtype="load", torch_dtype="classes"),
    "adapter": value("adapter_config.json", {"peft_type": "LORA", "base_model_name_or_path": "../outside"}),
    "adapter-code": both(code("evil.py"), value("adapter_config.json", {"peft_type": "evil", "auto_mapping": {
        "base_model_class": "M", "parent_library": "evil"}})),
    "adapter-within": value("adapter/adapter_config.json", {"peft_type": "LORA", "base_model_name_or_path": "../outside"}),
    "adapter-link": link("adapter_config.json", "../outside/config.json"),
    "adapter-in-config": _config(peft_config={"peft_type": "LORA"}, _adapter_model_path="../outside"),
    "code-everywhere": code("config.py", "modeling.py", "__init__.py", "sitecustomize.py", "torch.py", "onym.py"),
    "generation": both(code("custom_generate/generate.py"), value("generation_config.json", {"num_beams": 10**9})),
    "generation-link": link("generation_config.json", "../outside/config.json"),
    "tokenizer-config": both(code("evil.py"), change_json("tokenizer_config.json", tokenizer_class="evil.T", auto_map={
        "AutoTokenizer": ["evil.T", "evil.T"]}, chat_template="{{ ''.__class__.__mro__ }}")),
    "labels-many": _config(id2label={str(n): "x" for n in range(100_000)}, num_labels=10**9),
}  # fmt: skip

_FILES: dict[str, Spoil] = {
    "missing": without(CONFIG),
    "empty": text(CONFIG, ""),
    "list": text(CONFIG, "[]"),
    "null": text(CONFIG, "null"),
    "deep": text(CONFIG, _DEEP),
    "deep-inside": _rewrite_config(lambda data: data.replace("{", '{"x": ' + _DEEP + ",", 1)),
    "no-utf8": text(CONFIG, b"\xff\xfe\x00"),
    "utf16": _rewrite_config(lambda data: data.encode("utf-16")),
    "large": _rewrite_config(lambda data: data + " " * 50_000_000),
    "many-keys": _config(**{f"key{number}": number for number in range(100_000)}),
    "a-folder": folder_instead(CONFIG),
    "a-pipe": pipe(CONFIG),
    "a-device": link(CONFIG, "/dev/zero"),
    "a-terminal": link(CONFIG, "/dev/stdin"),
    "link-outside": link(CONFIG, f"../outside/{CONFIG}"),
    "link-to-itself": link(CONFIG, CONFIG),
    "readme-link": link("README.md", "../outside/README.md"),
    "hidden-link": link(".secret", "../outside/model.safetensors"),
    "code-link": link("evil.py", "../outside/evil.py"),
    "folder-link": link("more", "../outside"),
    "folder-link-inside": link("more", "."),
    "pipe-too": pipe("notes.txt"),
    "many-files": lambda folder: [(folder / f"x{number}").write_bytes(b"") for number in range(10_001)],
    "deep-folders": lambda folder: (folder / "/".join(["d"] * 500)).mkdir(parents=True),
}


def _modules(*kinds: tuple[str, str]) -> Spoil:
    return value("modules.json", [{"idx": number, "type": kind, "path": path} for number, (kind, path) in enumerate(kinds)])


_SENTENCES: dict[str, Spoil] = {
    "own-classes": both(code("evil.py"), _modules(("evil.Transformer", ""), ("evil.Pooling", "1_Pooling"),
                                                  ("evil.Normalize", ""))),
    "own-module": both(code("evil.py"), _modules(("evil.Run", ""), ("evil.Pooling", "1_Pooling"))),
    "system": _modules(("os.system", ""), ("posix.Pooling", "1_Pooling")),
    "path-outside": _modules(("a.Transformer", ""), ("a.Pooling", "../outside/1_Pooling"), ("a.Normalize", "")),
    "path-absolute": _modules(("a.Transformer", "/etc"), ("a.Pooling", "/etc"), ("a.Normalize", "")),
    "path-hidden": both(value(".p/config.json", {"pooling_mode": "cls"}), _modules(("a.Transformer", ""), ("a.Pooling", ".p"))),
    "pooling-link": link("1_Pooling/config.json", "../../outside/1_Pooling/config.json"),
    "pooling-folder-link": link("1_Pooling", "../outside/1_Pooling"),
    "pooling-pipe": pipe("1_Pooling/config.json"),
    "pooling-missing": without("1_Pooling/config.json"),
    "pooling-list": text("1_Pooling/config.json", "[1]"),
    "pooling-many": value("1_Pooling/config.json", {"pooling_mode": ["cls"] * 100_000}),
    "dense-pickle": both(write_pickle("2_Dense/pytorch_model.bin"), value("2_Dense/config.json", {"activation": "os.system"}),
                         _modules(("a.Transformer", ""), ("a.Pooling", "1_Pooling"), ("a.Dense", "2_Dense"))),
    "modules-link": link("modules.json", "../outside/modules.json"),
    "modules-pipe": pipe("modules.json"),
    "modules-deep": text("modules.json", _DEEP),
    "modules-large": text("modules.json", b"[" + b"{}," * 3_000_000 + b"{}]"),
    "modules-number": text("modules.json", "3"),
    "length-10-to-30": value("sentence_bert_config.json", {"max_seq_length": 10**30}),
    "length-nan": text("sentence_bert_config.json", '{"max_seq_length": NaN}'),
    "settings-target": value("encoder.json", {"_target_": "os.system", "pooling": "mean"}),
    "settings-link": link("encoder.json", "../outside/config.json"),
    "settings-length": value("encoder.json", {"length": 10**9}),
    "similarity-evil": value("config_sentence_transformers.json", {"similarity_fn_name": "os.system"}),
    "prompts": value("config_sentence_transformers.json", {"similarity_fn_name": "cosine", "prompts": {"q": "x" * 1_000_000}}),
    "positions-one": both(_config(max_position_embeddings=1), tensors(lambda found: found.update({
        "embeddings.position_embeddings.weight": torch.ones(1, 16)}))),
}  # fmt: skip

_COLLECTIVE: dict[str, Spoil] = {
    "dim-100000": change_json("collective.json", dim=100_000, represent="ends"),
    "window-100000": change_json("collective.json", window=100_000),
    "overlap-all": change_json("collective.json", overlap=31),
    "overlap-50000": change_json("collective.json", overlap=50_000),
    "threshold-nan": change_json("collective.json", threshold=float("nan")),
    "target": change_json("collective.json", _target_="os.system"),
    "represent-evil": change_json("collective.json", represent="os.system"),
    "settings-link": link("collective.json", "../outside/collective/collective.json"),
    "settings-pipe": pipe("collective.json"),
    "settings-missing": without("collective.json"),
    "heads-missing": without("heads.safetensors"),
    "heads-link": link("heads.safetensors", "../outside/collective/heads.safetensors"),
    "heads-pipe": pipe("heads.safetensors"),
    "heads-pickle": write_pickle("heads.safetensors"),
    "heads-nan": tensors(lambda found: [each.fill_(float("nan")) for each in found.values()], "heads.safetensors"),
    "heads-near-3e38": tensors(lambda found: [each.fill_(3e38) for each in found.values()], "heads.safetensors"),
    "heads-header": text("heads.safetensors", b"\xff" * 1000),
    "heads-of-another": tensors(lambda found: found.update(tag=found.pop(min(found))), "heads.safetensors"),
    "names-missing": without("names"),
    "names-link": link("names", "../outside/collective/names"),
    "names-weights-link": link("names/model.safetensors", "../../outside/collective/names/model.safetensors"),
    "names-nan": tensors(lambda found: [each.fill_(float("nan")) for each in found.values()], "names/model.safetensors"),
    "names-layers": change_json("names/config.json", num_hidden_layers=200_000),
    "names-adapter": value("names/adapter_config.json", {"base_model_name_or_path": "../../outside"}),
    "names-tokenizer-link": link("names/tokenizer.json", "../../outside/tokenizer.json"),
}

_GENERATIVE: dict[str, Spoil] = {
    "settings-target": value("onym.json", {"_target_": "os.system"}),
    "settings-template": value("onym.json", {"template": "{0.__class__}"}),
    "settings-window": value("onym.json", {"window": 10**9}),
    "settings-link": link("onym.json", "../outside/config.json"),
    "settings-pipe": pipe("onym.json"),
    "start-outside": _config(decoder_start_token_id=10**6),
    "start-missing": _config(decoder_start_token_id=None),
    "end-list": _config(eos_token_id=[2, 3]),
    "activation-evil": _config(activation_function="os.system"),
}


def _save_content(content: Any) -> Spoil:
    return lambda folder: torch.save(content(folder), folder / "pytorch_model.bin")


_CONVERT: dict[str, Spoil] = {
    "link-outside": link("tokenizer_config.json", "../outside/tokenizer_config.json"),
    "link-text": link("vocab.txt", "../outside/README.md"),
    "link-device": link("more.json", "/dev/zero"),
    "pipe": pipe("more.json"),
    "pipe-weights": pipe("pytorch_model.bin"),
    "weights-link": link("pytorch_model.bin", "../outside/pytorch_model.bin"),
    "weights-device": link("pytorch_model.bin", "/dev/zero"),
    "pickle": write_pickle("pytorch_model.bin"),
    "pickle-among-tensors": _save_content(lambda folder: {"weight": torch.ones(2), "more": Evil(folder)}),
    "index-outside": value("pytorch_model.bin.index.json", {"weight_map": {"a": "../outside/pytorch_model.bin"}}),
    "index-deep": text("pytorch_model.bin.index.json", _DEEP),
    "index-pipe": pipe("pytorch_model.bin.index.json"),
    "tensor-of-4-tb": _save_content(lambda _: {"weight": torch.ones(1).expand(10**6, 10**6)}),
    "tensor-of-4-gb": _save_content(lambda _: {"weight": torch.ones(1).expand(10**3, 10**6)}),
    "not-a-table": _save_content(lambda _: [torch.ones(2)]),
    "cut": lambda folder: (folder / "pytorch_model.bin").write_bytes((folder / "pytorch_model.bin").read_bytes()[:-500]),
    "code-too": code("modeling.py"),
    "folder-link": link("more", "../outside"),
}

_ALL: tuple[Kind, ...] = ("encoder", "bart", "t5", "collective")
CASES: tuple[Case, ...] = (
    *(Case(f"size-{name}", kind, spoil) for kind in _ALL for name, spoil in _sizes(kind).items()),
    *in_turn("config", _NAMES, "encoder", "bart", "encoder", "t5"),
    *in_turn("file", _FILES, *_ALL),
    *in_turn("sentences", _SENTENCES, "encoder"),
    *in_turn("collective", _COLLECTIVE, "collective"),
    *in_turn("generative", _GENERATIVE, "bart", "t5"),
    *in_turn("convert", _CONVERT, "convert"),
)
