"""The prose of a file: comments, docstrings and other strings of Python, and the pages of the documentation."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from contextlib import suppress

Block = tuple[int, str]
_COMMENT = re.compile(r"(?m)^[ \t]*#[:!]?[ ]?")
_CODE_SPAN = re.compile(r"`([^`\s]+)`")
_PYTHON_BLOCK = re.compile(r"(?ms)^```python\n(.*?)^```")


def iter_python_prose(source: str, tree: ast.AST) -> Iterator[Block]:
    """Yield the line where each string or run of comments begins, with its text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    yield from _comments(source)


def _comments(source: str) -> Iterator[Block]:
    """Yield runs of comments: a phrase may go over the end of a line."""
    first, last, texts = 0, 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line = token.start[0]
        if line != last + 1 and texts:
            yield first, "\n".join(texts)
            texts = []
        first, last = (line, line) if not texts else (first, line)
        texts.append(_COMMENT.sub("", token.string))
    if texts:
        yield first, "\n".join(texts)


def iter_code_spans(page: str) -> Iterator[Block]:
    """Yield the line and the text of each single word that a page sets in code."""
    for match in _CODE_SPAN.finditer(page):
        yield page.count("\n", 0, match.start()) + 1, match.group(1)


def iter_examples(page: str) -> Iterator[tuple[int, ast.AST]]:
    """Yield the line where each example in Python begins, and the example; of a doctest the statements."""
    for match in _PYTHON_BLOCK.finditer(page):
        lines = match.group(1).splitlines()
        typed = [line[4:] for line in lines if line.startswith((">>> ", "... "))]
        with suppress(SyntaxError):  # a page may show a part of a program
            yield page.count("\n", 0, match.start()) + 1, ast.parse("\n".join(typed or lines))
