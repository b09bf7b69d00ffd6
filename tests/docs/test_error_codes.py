"""Tests that the source, docs/reference/errors.md and the tests have the same error codes."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import onym
from onym import errors

ROOT = Path(__file__).parents[2]
SRC = Path(onym.__file__).parent
PAGE = ROOT / "docs" / "reference" / "errors.md"
CLASSES = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, errors.OnymError)}


def find_raised_codes(text: str) -> set[str]:
    """Return the error codes in a module: literals in the calls of error classes, or values of the variables used there."""
    tree = ast.parse(text)
    codes = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in CLASSES:
            first = node.args[0] if node.args else None
            found = _find_assigned(tree, first.id) if isinstance(first, ast.Name) else _strings(first)
            assert found, f"line {node.lineno}: the error code is not a literal"
            codes |= found
    return codes


def _find_assigned(tree: ast.Module, name: str) -> set[str]:
    """Return the strings that are assigned to a name."""
    values = [node.value for node in ast.walk(tree) if isinstance(node, ast.Assign) and _name(node.targets[0]) == name]
    choices = [(value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,) for value in values]
    return {text for choice in choices for value in choice for text in _strings(value)}


def _strings(node: ast.expr | None) -> set[str]:
    return {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def codes_of_source() -> set[str]:
    return {code for path in SRC.rglob("*.py") for code in find_raised_codes(path.read_text("utf-8"))}


def headings() -> list[str]:
    return re.findall(r"^## (.+)$", PAGE.read_text("utf-8"), re.MULTILINE)


def test_finds_codes() -> None:
    assert find_raised_codes("raise InputError('a-b', 'what')\nx = errors.LimitError('c-d', 'what')\ny = Other('e-f')") == {
        "a-b",
        "c-d",
    }
    assert find_raised_codes("code = 'a-b' if deep else 'c-d'\nraise LimitError(code, 'what')") == {"a-b", "c-d"}


def test_rejects_code_that_is_not_a_literal() -> None:
    with pytest.raises(AssertionError, match="line 1"):
        find_raised_codes("raise InputError(code_of(file), 'what')")


def test_codes_are_in_kebab_case() -> None:
    assert {code for code in codes_of_source() if not re.fullmatch(r"[a-z]+(?:-[a-z]+)+", code)} == set()


def test_page_lists_each_code_exactly_once() -> None:
    assert headings() == sorted(codes_of_source())


def test_sections_are_not_empty() -> None:
    sections = re.split(r"^## .+$", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
    assert [len(section.split()) >= 5 for section in sections] == [True] * len(headings())


def test_page_lists_each_error_class_with_its_exit_status() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (\d) \|", PAGE.read_text("utf-8"), re.MULTILINE))
    classes = {name: str(getattr(errors, name).exit_status) for name in CLASSES if name != "OnymError"}
    assert rows == classes


def test_each_code_is_used_in_a_test() -> None:
    files = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    text = "\n".join(path.read_text("utf-8") for path in files)
    assert sorted(code for code in codes_of_source() if not re.search(rf"[\"']{code}\b", text)) == []
