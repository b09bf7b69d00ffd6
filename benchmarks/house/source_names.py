"""The names that a Python file binds, the options it declares, and the keys it writes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

Found = tuple[int, str]
_OPTION = re.compile(r"--[a-z][a-z0-9-]*")


def iter_names(tree: ast.AST) -> Iterator[Found]:
    """Yield the line and the name of each binding; names that belong to other libraries are only read, never bound."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        yield from ((line, name) for name in _bound(node))


def _bound(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            yield name
        case ast.alias(asname=str(name)) | ast.ExceptHandler(name=str(name)):
            yield name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name
        case ast.Dict(keys=keys):
            yield from (key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
        case ast.Subscript(slice=ast.Constant(value=str(name)), ctx=ast.Store()):
            yield name
        case ast.Constant(value=str(text)) if _OPTION.match(text):
            yield from _OPTION.findall(text)
        case ast.Call(func=ast.Name(id="dict" | "Annotated")):
            yield from (keyword.arg for keyword in node.keywords if keyword.arg)
        case _:
            return


def iter_definitions(tree: ast.Module) -> Iterator[Found]:
    """Yield the classes and aliases of a module's top level, without a leading underscore."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.lineno, node.name.lstrip("_")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((node.lineno, name.id.lstrip("_")) for name in targets if isinstance(name, ast.Name))
