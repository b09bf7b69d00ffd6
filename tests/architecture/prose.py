"""Collect the texts in the source that people read: docstrings, comments, errors, and help texts."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_ERROR = re.compile(r"(?:Error|Warning|Exit|Refusal)$|^(?:corrupt|warn|fail|tell)$")
_DIRECTIVE = re.compile(r"^#\s*(?:noqa|type:|pragma|fmt:|ruff:|mypy:|!)")
_MIN_WORDS = 3
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Text(NamedTuple):
    """A text of the source: a `docstring`, `comment`, `error` or `help`, and where it is."""

    kind: str
    where: str
    text: str


def collect_texts(root: Path, folder: str) -> list[Text]:
    """Return the texts of all Python files below a folder of `root`."""
    paths = sorted((root / folder).rglob("*.py"))
    return [text for path in paths for text in _texts_of(path.read_text("utf-8"), str(path.relative_to(root)))]


def _texts_of(source: str, name: str) -> Iterator[Text]:
    for kind, line, text in (*_comments(source), *_strings(ast.parse(source))):
        if len(text.split()) >= _MIN_WORDS:
            yield Text(kind, f"{name}:{line}", text)


def _comments(source: str) -> Iterator[tuple[str, int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not _DIRECTIVE.match(token.string):
            yield "comment", token.start[0], token.string


def _strings(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and (docstring := ast.get_docstring(node)):
            yield "docstring", node.body[0].lineno, _without_examples(docstring)
        elif isinstance(node, ast.Call):
            kind = "error" if _ERROR.search(_called(node)) else ""
            arguments = [(kind, value) for value in node.args]
            arguments += [("help" if key.arg in {"help", "description"} else kind, key.value) for key in node.keywords]
            yield from ((of, node.lineno, text) for of, value in arguments if of and (text := _literal(value)))


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _literal(value: ast.expr) -> str:
    """Return the text of a string or f-string, in which placeholders keep their source; return "" for other nodes."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    if isinstance(value, ast.JoinedStr):
        return "".join(_literal(each) or f"{{{ast.unparse(each.value)}}}" for each in value.values)  # type: ignore[attr-defined]
    return ""


def _without_examples(docstring: str) -> str:
    """Drop the doctests of a docstring."""
    paragraphs = docstring.split("\n\n")
    return "\n\n".join(each for each in paragraphs if not each.lstrip().startswith(">>>"))
