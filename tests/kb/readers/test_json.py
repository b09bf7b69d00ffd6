"""Tests of checking the types of JSON values."""

from __future__ import annotations

from typing import Any

import pytest

from onym.errors import InputError
from onym.kb.readers._shared import objects, require_object, string, strings
from onym.store.files.source import InputFile

FILE = InputFile.from_bytes("a.json", b"")


def test_values_of_the_expected_type() -> None:
    value = {"text": "a", "empty": "", "texts": ["a", ""], "objects": [{}, {"a": 1}], "null": None}
    assert string(value, "text", FILE) == "a"
    assert [string(value, key, FILE) for key in ("empty", "null", "absent")] == [None, None, None]
    assert strings(value, "texts", FILE) == ["a", ""]
    assert objects(value, "objects", FILE) == [{}, {"a": 1}]
    assert strings(value, "null", FILE) == strings(value, "absent", FILE) == []
    assert objects(value, "absent", FILE) == []
    assert require_object(value, FILE) is value


@pytest.mark.parametrize("function", [string, strings, objects])
@pytest.mark.parametrize("value", [0, 1.5, True, [1], {"secret": 1}, [["secret"]]])
def test_rejects_values_of_the_wrong_type_without_quoting_them(function: Any, value: Any) -> None:
    with pytest.raises(InputError) as e:
        function({"key": value}, "key", FILE)
    assert e.value.code == "json-shape"
    assert e.value.where == "a.json"
    assert "secret" not in str(e.value)


@pytest.mark.parametrize(("value", "said"), [([], "a list"), ("secret", "a string"), (5, "a number"), (True, "a boolean")])
def test_rejects_values_that_are_not_objects(value: Any, said: str) -> None:
    with pytest.raises(InputError, match=said) as e:
        require_object(value, FILE)
    assert "secret" not in str(e.value)
