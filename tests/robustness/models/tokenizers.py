"""Hostile tokenizers: slow regular expressions, growing replacements, panics, out-of-range ids, large files."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.robustness.models.case import (
    Case,
    Spoil,
    both,
    code,
    folder_instead,
    in_turn,
    link,
    pipe,
    text,
    without,
    write_pickle,
)

FILE = "tokenizer.json"


def _change(change: Callable[[dict[str, Any]], object]) -> Spoil:
    def spoil(folder: Path) -> None:
        found = json.loads((folder / FILE).read_text())
        change(found)
        (folder / FILE).write_text(json.dumps(found))

    return spoil


def _part(name: str, part: Any) -> Spoil:
    return _change(lambda found: found.update({name: part}))


def _model(**changes: Any) -> Spoil:
    return _change(lambda found: found["model"].update(changes))


def _split(pattern: str) -> Spoil:
    part = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return _change(lambda found: found.update(pre_tokenizer=_sequence(part, found["pre_tokenizer"], name="pretokenizers")))


def _replace(pattern: str, content: str, kind: str = "String") -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def _sequence(*parts: Any, name: str = "normalizers") -> dict[str, Any]:
    return {"type": "Sequence", name: list(parts)}


def _rewrite_file(change: Callable[[str], str]) -> Spoil:
    return lambda folder: (folder / FILE).write_text(change((folder / FILE).read_text()))


def _table(data: bytes) -> dict[str, Any]:
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data).decode()}


def _template(pieces: int, ids: list[int], name: str = "<s>") -> dict[str, Any]:
    single = [{"SpecialToken": {"id": name, "type_id": 0}}] * pieces + [{"Sequence": {"id": "A", "type_id": 0}}]
    special = {"<s>": {"id": "<s>", "ids": ids, "tokens": ["<s>"] * len(ids)}}
    return {"type": "TemplateProcessing", "single": single, "pair": single, "special_tokens": special}


def _nest_part(depth: int) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "NFC"}
    for _ in range(depth):
        part = _sequence(part)
    return part


_PIECES = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
_PADDING = {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 1, "pad_type_id": 0,
            "pad_token": "<pad>"}  # fmt: skip

_CASES: dict[str, Spoil] = {
    "regex-nested": _split("(a+)+$"),
    "regex-either": _split("(a|a)*(a|a)*(a|a)*(a|a)*b"),
    "regex-powers": _split("a*" * 30 + "b"),
    "regex-backreference": _split(r"(a*)*\1b"),
    "regex-look": _split("(?=(a+)+b)a"),
    "regex-counted": _split("((a{1,1000}){1,1000}){1,1000}b"),
    "regex-unclosed": _split("("),
    "regex-long": _split("|".join(f"w{number}" for number in range(100_000))),
    "regex-empty": _split(""),
    "regex-in-normalizer": _part("normalizer", _replace("(a+)+$", "", "Regex")),
    "regex-in-decoder": _part("decoder", _replace("(a+)+$", "", "Regex")),
    "doubling-40": _part("normalizer", _sequence(*[_replace("a", "aa")] * 40)),
    "doubling-3": _part("normalizer", _sequence(*[_replace("e", "ee")] * 3)),
    "growing": _part("normalizer", _replace("a", "a" * 1_000_000)),
    "of-nothing": _part("normalizer", _replace("", "a" * 1000)),
    "prepending": _part("normalizer", {"type": "Prepend", "prepend": "a" * 10_000_000}),
    "table-grows": _part("normalizer", _table(b"\x08\0\0\0" + bytes(8) + b"a" * 1_000_000 + b"\0")),
    "table-nowhere": _part("normalizer", _table(b"\x08\0\0\0" + b"\xff" * 8 + b"a\0")),
    "table-cut": _part("normalizer", _table(b"\xff\xff\xff\x7f")),
    "table-empty": _part("normalizer", _table(b"")),
    "table-no-base64": _part("normalizer", {"type": "Precompiled", "precompiled_charsmap": "%%%"}),
    "nested-50": _part("normalizer", _nest_part(50)),
    "nested-2000": both(_part("normalizer", "@"), _rewrite_file(lambda data: data.replace(
        '"@"', '{"type": "Sequence", "normalizers": [' * 2000 + "]}" * 2000))),
    "parts-many": _part("normalizer", _sequence(*[{"type": "Lowercase"}] * 50_000)),
    "part-unknown": _part("normalizer", {"type": "Python", "code": "import os"}),
    "part-length-0": _part("pre_tokenizer", {"type": "FixedLength", "length": 0}),
    "panic-template": _part("post_processor", _template(1, [0], "<none>")),
    "panic-prefix": _model(continuing_subword_prefix="#####"),
    "around-many": _part("post_processor", _template(10_000, [0])),
    "around-unknown": _part("post_processor", _template(1, [2**31])),
    "around-just-outside": _part("post_processor", _template(1, [10_000])),
    "unknown-word": both(_part("post_processor", None), _part("added_tokens", []),
                         _part("model", _PIECES | {"vocab": {"</s>": 0, "a": 1}})),
    "unigram-outside": _part("model", {"type": "Unigram", "unk_id": 99, "vocab": [["</s>", 0.0], ["a", -1.0]]}),
    "unigram-infinite": both(_part("model", {"type": "Unigram", "unk_id": 0, "vocab": [["</s>", "@"]]}),
                             _rewrite_file(lambda data: data.replace('"@"', "1e999"))),
    "words-of-any-length": _part("model", _PIECES | {"max_input_chars_per_word": 10**12, "vocab": {"[UNK]": 0, "</s>": 2}}),
    "at-random": _model(dropout=0.5),
    "merges-unknown": _model(merges=[["x" * 50, "y" * 50]]),
    "merges-numbers": _model(merges=[1, 2]),
    "vocabulary-empty": _model(vocab={}, merges=[]),
    "vocabulary-2-to-32": _change(lambda found: found["model"]["vocab"].update(evil=2**32 - 1)),
    "vocabulary-negative": _change(lambda found: found["model"]["vocab"].update(evil=-1)),
    "vocabulary-larger": _change(lambda found: found["model"]["vocab"].update(evil=10_000)),
    "vocabulary-million": _change(lambda found: found["model"]["vocab"].update({f"t{n}": n + 500 for n in range(1_000_000)})),
    "vocabulary-50000": _change(lambda found: found["model"]["vocab"].update({f"t{n}": n + 500 for n in range(50_000)})),
    "model-unknown": _part("model", {"type": "Code", "vocab": {}}),
    "model-missing": _change(lambda found: found.pop("model")),
    "added-large": _change(lambda found: found["added_tokens"].append(found["added_tokens"][0] | {"id": 410,
                                                                                                  "content": "a" * 2_000_000})),
    "added-outside": _change(lambda found: found["added_tokens"].append(found["added_tokens"][0] | {"id": 2**31,
                                                                                                    "content": "evil"})),
    "padding-10-to-9": _part("padding", _PADDING),
    "truncation-stride": _part("truncation", {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 9}),
    "no-end": _rewrite_file(lambda data: data.replace("</s>", "<end>")),
    "values-many": text(FILE, b'{"model": [' + b"[]," * 5_000_000 + b"[]]}"),
    "large": _rewrite_file(lambda data: data + " " * 60_000_000),
    "deep": text(FILE, "[" * 1_000_000),
    "key-twice": _rewrite_file(lambda data: data.replace("{", '{"normalizer": null,', 1)),
    "no-utf8": text(FILE, b"\xff\xfe"),
    "half-a-pair": _change(lambda found: found["model"]["vocab"].update({"\ud800": 419})),
    "pickle": write_pickle(FILE),
    "empty": text(FILE, ""),
    "missing": without(FILE),
    "a-folder": folder_instead(FILE),
    "a-pipe": pipe(FILE),
    "a-device": link(FILE, "/dev/zero"),
    "link-outside": link(FILE, f"../outside/{FILE}"),
    "code-too": code("tokenization.py", "tokenizer.py"),
}  # fmt: skip

CASES: tuple[Case, ...] = tuple(in_turn("tokenizer", _CASES, "encoder", "encoder", "bart"))
