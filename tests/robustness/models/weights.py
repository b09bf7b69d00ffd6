"""Hostile weight files: false headers, NaN, wrong types, and indexes that refer to other files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from tests.robustness.models.case import (  # fmt: skip
    INDEX,
    WEIGHTS,
    Case,
    Spoil,
    both,
    change_json,
    code,
    folder_instead,
    in_turn,
    link,
    nothing,
    pipe,
    remove_path,
    shard,
    tensors,
    text,
    value,
    without,
    write_pickle,
)


def _header(change: Callable[[dict[str, Any]], Any], name: str = WEIGHTS) -> Spoil:
    """Change the header of a file but not its body."""

    def spoil(folder: Path) -> None:
        data = (folder / name).read_bytes()
        end = 8 + int.from_bytes(data[:8], "little")
        found = json.loads(data[8:end])
        new = change(found)
        header = new if isinstance(new, bytes) else json.dumps(found).encode()
        (folder / name).write_bytes(len(header).to_bytes(8, "little") + header + data[end:])

    return spoil


def _first(**changes: Any) -> Spoil:
    def change(found: dict[str, Any]) -> None:
        found.pop("__metadata__", None)
        found[min(found)].update(changes)

    return _header(change)


def _shift_offsets(by: int) -> Spoil:
    def change(found: dict[str, Any]) -> None:
        each = found[max(found)]
        each["data_offsets"] = [offset + by for offset in each["data_offsets"]]

    return _header(change)


def _data(change: Callable[[bytes], bytes]) -> Spoil:
    return lambda folder: (folder / WEIGHTS).write_bytes(change((folder / WEIGHTS).read_bytes()))


def _sparse(folder: Path) -> None:
    with remove_path(folder / WEIGHTS).open("wb") as file:
        file.write((100_000_000_000).to_bytes(8, "little"))
        file.truncate(200_000_000_000)


def _fill_tensors(number: float) -> Spoil:
    return tensors(lambda found: [each.fill_(number) for each in found.values() if each.dim() == 2])


def _convert_dtype(kind: torch.dtype) -> Spoil:
    return tensors(lambda found: found.update({name: each.to(kind) for name, each in found.items()}))


def _rename_tensors(found: dict[str, Any]) -> None:
    found.update({f"evil.{name}": found.pop(name) for name in list(found)})


def _widest(found: dict[str, Any]) -> None:
    name = max(found, key=lambda each: found[each].numel())
    found[name] = torch.ones(found[name].shape[0] + 1, found[name].shape[1])


_FILES: dict[str, Spoil] = {
    "cut-to-nothing": text(WEIGHTS, b""),
    "cut-in-the-length": _data(lambda data: data[:5]),
    "cut-in-the-header": _data(lambda data: data[:100]),
    "cut-in-the-body": _data(lambda data: data[:-100]),
    "more-at-the-end": _data(lambda data: data + bytes(1000)),
    "header-of-2-to-63": _data(lambda data: (2**63).to_bytes(8, "little") + data[8:]),
    "header-of-nothing": _data(lambda data: bytes(8) + data[8:]),
    "header-of-100-gb-sparse": _sparse,
    "header-of-30-mb": _header(lambda found: b" " * 30_000_000 + json.dumps(found).encode()),
    "header-deep": _header(lambda _: b"[" * 1_000_000),
    "header-no-object": _header(lambda _: b"[]"),
    "header-no-utf8": _header(lambda _: b"\xff\xfe" * 100),
    "header-many-names": _header(lambda found: found.update({f"x{n}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
                                                            for n in range(20_000)})),
    "header-metadata-number": _header(lambda found: found.update(__metadata__=3)),
    "shape-overflows": _first(shape=[2**62, 2**62]),
    "shape-negative": _first(shape=[-1, 16]),
    "shape-text": _first(shape="wide"),
    "shape-huge-empty": _first(shape=[2**60, 0]),
    "offsets-backwards": _first(data_offsets=[100, 0]),
    "offsets-beyond": _first(data_offsets=[0, 2**40]),
    "offsets-text": _first(data_offsets=["a", "b"]),
    "overlap": _shift_offsets(-64),
    "hole": _shift_offsets(64),
    "type-unknown": _first(dtype="X99"),
    "type-smaller": _first(dtype="F16"),
    "type-half-a-byte": _first(dtype="F4"),
    "type-bytes": _convert_dtype(torch.uint8),
    "type-bool": _convert_dtype(torch.bool),
    "type-float8": _convert_dtype(torch.float8_e4m3fn),
    "type-complex": _convert_dtype(torch.complex64),
    "nan": _fill_tensors(float("nan")),
    "inf": _fill_tensors(float("inf")),
    "minus-inf": _fill_tensors(float("-inf")),
    "near-3e38": _fill_tensors(3.3e38),
    "near-1e30": _fill_tensors(1e30),
    "nan-one": tensors(lambda found: found[max(found)].view(-1)[:1].fill_(float("nan"))),
    "f64-1e300": tensors(lambda found: found.update({name: torch.full_like(each, 1e300, dtype=torch.float64)
                                                     for name, each in found.items()})),
    "f16-inf": tensors(lambda found: found.update({name: torch.full_like(each, 1e9).half() for name, each in found.items()})),
    "none-there": tensors(lambda found: found.clear()),
    "half-there": tensors(lambda found: [found.pop(name) for name in list(found)[::2]]),
    "other-names": tensors(_rename_tensors),
    "other-shape": tensors(_widest),
    "more-than-needed": tensors(lambda found: found.update(evil=torch.ones(1000))),
    "pickle": write_pickle(WEIGHTS),
    "pickle-too": write_pickle("pytorch_model.bin"),
    "pickle-alone": both(without(WEIGHTS), write_pickle("pytorch_model.bin")),
    "pickles-of-others": both(*map(write_pickle, ("training_args.bin", "optimizer.pt", "scheduler.pt", "flax_model.msgpack",
                                             "tf_model.h5", "model.ckpt", "adapter_model.bin"))),
    "a-folder": folder_instead(WEIGHTS),
    "a-pipe": pipe(WEIGHTS),
    "a-device": link(WEIGHTS, "/dev/zero"),
    "missing": without(WEIGHTS),
    "link-outside": link(WEIGHTS, f"../outside/{WEIGHTS}"),
    "link-nowhere": link(WEIGHTS, "nothing"),
    "link-to-itself": link(WEIGHTS, WEIGHTS),
    "other-weights-too": both(
        lambda folder: (folder / "model-00001-of-00001.safetensors").write_bytes(
            (folder.parent / "outside" / WEIGHTS).read_bytes()),
        value(INDEX, {"weight_map": {"a": "model-00001-of-00001.safetensors"}}),
    ),
}  # fmt: skip


def _index(name: Any, make: Spoil = nothing) -> Spoil:
    """Make an index refer to another file for all tensors of its first shard."""

    def spoil(folder: Path) -> None:
        shard(folder)
        found = json.loads((folder / INDEX).read_text())
        where = {key: name if each == "shard-0.safetensors" else each for key, each in found["weight_map"].items()}
        (folder / INDEX).write_text(json.dumps(found | {"weight_map": where}))
        make(folder)

    return spoil


def _write_index(content: str) -> Spoil:
    return both(shard, text(INDEX, content))


def _move_shard(name: str) -> Spoil:
    return lambda folder: (folder / "shard-0.safetensors").rename(remove_path(folder / name))


_INDEXES: dict[str, Spoil] = {
    "honest": shard,
    "above": _index(f"../outside/{WEIGHTS}"),
    "absolute": lambda folder: _index(str(folder.parent / "outside" / WEIGHTS))(folder),
    "above-through-a-folder": _index(f"a/../../outside/{WEIGHTS}", lambda folder: (folder / "a").mkdir()),
    "a-link-outside": _index("b.safetensors", link("b.safetensors", f"../outside/{WEIGHTS}")),
    "a-folder-that-is-a-link": _index(f"b/{WEIGHTS}", link("b", "../outside")),
    "a-pickle": _index("b.bin", write_pickle("b.bin")),
    "a-pickle-as-safetensors": _index("b.safetensors", write_pickle("b.safetensors")),
    "hidden": _index(".b.safetensors", _move_shard(".b.safetensors")),
    "not-safetensors": _index("b.bin", _move_shard("b.bin")),
    "missing": _index("b.safetensors"),
    "itself": _index(INDEX),
    "a-pipe": _index("b.safetensors", pipe("b.safetensors")),
    "a-device": _index("b.safetensors", link("b.safetensors", "/dev/zero")),
    "an-address": _index("https://127.0.0.1:9/b.safetensors"),
    "a-number": _index(3),
    "a-list": _index(["shard-1.safetensors"]),
    "nothing": _index(None),
    "empty-name": _index(""),
    "nul": _index("b\0.safetensors"),
    "no-map": _write_index('{"metadata": {}}'),
    "map-is-a-list": _write_index('{"weight_map": [1, 2]}'),
    "not-json": _write_index("{"),
    "nan": _write_index('{"weight_map": NaN}'),
    "deep": _write_index("[" * 1_000_000),
    "large": _write_index(json.dumps({"weight_map": {f"x{n}": "shard-0.safetensors" for n in range(200_000)}})),
    "is-a-link": both(shard, link(INDEX, "../outside/modules.json")),
    "is-a-pipe": both(shard, pipe(INDEX)),
}


def _swap_model(name: str) -> Spoil:
    """Replace the weights of a pipeline's model with those of another, after the pipeline was built."""

    def spoil(folder: Path) -> None:
        path = folder / "encoder" / name
        path.write_bytes((folder.parent / "outside" / WEIGHTS).read_bytes())

    return spoil


_PIPELINES: dict[str, Spoil] = {
    "honest": nothing,
    "shard-swapped": _swap_model("part-0.safetensors"),
    "one-file-added": _swap_model(WEIGHTS),
    "shard-is-a-link": link("encoder/part-0.safetensors", f"../../outside/{WEIGHTS}"),
    "pooling-changed": value("encoder/1_Pooling/config.json", {"pooling_mode": "cls"}),
    "settings-added": value("encoder/encoder.json", {"pooling": "cls"}),
    "code-added": code("encoder/modeling.py", "encoder/__init__.py"),
}

CASES: tuple[Case, ...] = (
    *in_turn("weights", _FILES, "encoder", "bart", "encoder"),
    *in_turn("index", _INDEXES, "encoder"),
    *in_turn("pipeline", _PIPELINES, "pipeline"),
)


# Encoders for ONNX Runtime: all hostile encoders again, and some that are harmful only with ONNX Runtime.

_QUERY = "encoder.layer.0.attention.self.query"
_POSITIONS = "embeddings.position_embeddings.weight"
_HUGE = 3e38


def once_more(cases: Iterable[Case]) -> list[Case]:
    """Return the cases of encoders, for ONNX Runtime."""
    return [replace(case, kind="onnx") for case in cases if case.kind == "encoder"]


def _positions(count: int, pooling: str) -> Spoil:
    """Set the model's maximum length to `count` tokens; with `mean-all` pooling, texts are padded to this length."""

    def longer(found: dict[str, Any]) -> None:
        found[_POSITIONS] = found[_POSITIONS][:1].repeat(count, 1)

    sizes = change_json("config.json", max_position_embeddings=count)
    return both(sizes, tensors(longer), value("encoder.json", {"pooling": pooling, "length": min(count, 100_000)}))


def _graph(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"\x08\x0a" + b"\x00" * 100)
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").symlink_to("../../outside/model.safetensors")


def _int8(scale: Any, name: str = f"{_QUERY}.weight") -> Spoil:
    """Replace a weight with int8 values and scales."""

    def change(found: dict[str, Any]) -> None:
        found[name] = torch.ones_like(found[name], dtype=torch.int8)
        if scale is not None:
            found[f"{name}_scale"] = scale

    return tensors(change)


_SPOILS: dict[str, Spoil] = {
    "attention-to-padding": _positions(8_192, "mean-all"),
    "attention-without-end": _positions(1_000_000, "mean-all"),
    "many-heads": both(_positions(4_096, "mean-all"), change_json("config.json", num_attention_heads=16)),
    "decoder": change_json("config.json", is_decoder=True),
    "cross-attention": change_json("config.json", is_decoder=True, add_cross_attention=True),
    "integers-without-scales": _int8(None),
    "scales-too-few": _int8(torch.ones(3)),
    "scales-of-another-shape": _int8(torch.ones(16, 16)),
    "scales-that-are-none": _int8(torch.full((16,), torch.nan)),
    "scales-without-end": _int8(torch.full((16,), _HUGE)),
    "scales-as-integers": _int8(torch.ones(16, dtype=torch.int64)),
    "integers-for-a-bias": _int8(torch.ones(16), f"{_QUERY}.bias"),
    "integers-for-words": _int8(None, "embeddings.word_embeddings.weight"),
}
ONNX_CASES: tuple[Case, ...] = tuple(Case(f"onnx-{name}", "onnx", spoil) for name, spoil in _SPOILS.items())
GRAPH = Case("onnx-graph", "onnx", _graph)
"""A folder with its own ONNX graph, which must not be read, and a link to a file outside."""
