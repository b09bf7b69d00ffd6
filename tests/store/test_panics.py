"""Tests that panics of Rust libraries are converted to errors, and that other exceptions are not."""

from __future__ import annotations

import json

import pytest

from onym.store.limits import panics_as_errors


class PanicException(BaseException):
    __module__ = "pyo3_runtime"


def test_converts_a_panic_and_drops_its_message() -> None:
    with pytest.raises(RuntimeError, match="panicked") as caught, panics_as_errors():
        raise PanicException("inside of the text 'patient Smith'")
    assert "Smith" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, ValueError])
def test_other_exceptions_pass_unchanged(kind: type[BaseException]) -> None:
    with pytest.raises(kind), panics_as_errors():
        raise kind


def test_converts_a_panic_of_a_rust_library() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    fast = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, unk_token="a"))
    part = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "b", "type_id": 0}}],
        "pair": [],
        "special_tokens": {},
    }
    data = json.dumps(json.loads(fast.to_str()) | {"post_processor": part})
    with pytest.raises(RuntimeError), panics_as_errors():
        tokenizers.Tokenizer.from_str(data).encode("a")
