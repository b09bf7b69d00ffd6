"""Find the installed packages that Onym needs with all its extras. Standard library only.

Requirements of Onym come from `pyproject.toml`, those of a package from its own metadata. A requirement whose environment
marker excludes this system or Python is left out.
"""

import ast
import operator
import os
import platform
import re
import sys
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

ROOT = "onym"
PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
REQUIREMENT = re.compile(r"\s*([\w.-]+)\s*(?:\[([^\]]*)\])?[^;]*(?:;\s*(.+))?")
VERSION = re.compile(r"\d+(\.\d+)*")
ENVIRONMENT = {
    "implementation_name": sys.implementation.name,
    "os_name": os.name,
    "platform_machine": platform.machine(),
    "platform_python_implementation": platform.python_implementation(),
    "platform_system": platform.system(),
    "python_full_version": platform.python_version(),
    "python_version": ".".join(platform.python_version_tuple()[:2]),
    "sys_platform": sys.platform,
}
OPERATORS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}


@dataclass(frozen=True)
class Package:
    """An installed package.

    `is_spdx`: its licence is an SPDX expression. `is_core`: Onym needs it without any extra. `requires`: the names of the
    packages that it needs itself.
    """

    name: str
    version: str
    licence: str
    is_spdx: bool
    is_core: bool
    requires: tuple[str, ...]


def needed_packages() -> list[Package]:
    """Return each package that Onym needs with all its extras, by name."""
    core = _walk(PROJECT["dependencies"])
    found = _walk(_own_lines())
    return [_package(name, requires, is_core=name in core) for name, requires in sorted(found.items())]


def root_requires() -> list[str]:
    """Return the names of the direct dependencies of Onym."""
    return sorted({name for name, _ in _needed(_own_lines(), ())})


def normal_name(name: str) -> str:
    """Return the normalised name of a package.

    >>> normal_name("sparse_dot_topn")
    'sparse-dot-topn'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def marker_holds(marker: str, extras: Iterable[str] = ()) -> bool:
    """Return whether an environment marker is true here, for a package that is installed with these extras.

    A marker is parsed as a Python expression; the operators `~=` and `===` raise `SyntaxError`.

    >>> marker_holds('python_version >= "3.11" and extra == "fast"', ["fast"])
    True
    """
    tree = ast.parse(marker.strip(), mode="eval").body
    return any(_holds(tree, ENVIRONMENT | {"extra": extra}) for extra in ("", *map(normal_name, extras)))


def _holds(node: ast.expr, environment: dict[str, str]) -> bool:
    if isinstance(node, ast.BoolOp):
        parts = (_holds(each, environment) for each in node.values)
        return all(parts) if isinstance(node.op, ast.And) else any(parts)
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        message = f"not an environment marker: {ast.unparse(node)}"
        raise ValueError(message)
    compare = type(node.ops[0])
    left, right = (_value(each, environment) for each in (node.left, node.comparators[0]))
    if compare not in (ast.In, ast.NotIn) and VERSION.fullmatch(left) and VERSION.fullmatch(right):
        return OPERATORS[compare](_numbers(left), _numbers(right))
    return OPERATORS[compare](left, right)


def _value(node: ast.expr, environment: dict[str, str]) -> str:
    return environment[node.id] if isinstance(node, ast.Name) else str(ast.literal_eval(node))


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(each) for each in version.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()  # 3.11.0 is 3.11
    return tuple(numbers)


def _own_lines() -> list[str]:
    return [*PROJECT["dependencies"], *(line for lines in PROJECT["optional-dependencies"].values() for line in lines)]


def _walk(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the transitive requirements: each package name with its direct requirements."""
    found: dict[str, set[str]] = {}
    seen: set[tuple[str, tuple[str, ...]]] = set()
    waiting = _needed(lines, ())
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) not in seen:
            seen.add((name, extras))
            needed = _needed(distribution(name).requires or (), extras)
            found.setdefault(name, set()).update(each for each, _ in needed if each != name)
            waiting += needed
    return {name: tuple(sorted(requires)) for name, requires in found.items()}


def _needed(lines: Iterable[str], extras: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    """Return name and extras of each requirement whose marker is true here, except those on Onym itself."""
    needed = []
    for line in lines:
        name, wanted, marker = _split(line)
        if name != ROOT and (not marker or marker_holds(marker, extras)):
            needed.append((name, wanted))
    return needed


def _split(line: str) -> tuple[str, tuple[str, ...], str | None]:
    match = REQUIREMENT.fullmatch(line)
    if not match:
        message = f"not a requirement: {line}"
        raise ValueError(message)
    return normal_name(match[1]), tuple(sorted(each.strip() for each in (match[2] or "").split(",") if each)), match[3]


def _package(name: str, requires: tuple[str, ...], *, is_core: bool) -> Package:
    installed = distribution(name)
    is_spdx = "License-Expression" in installed.metadata
    return Package(name, installed.version, _licence(installed), is_spdx, is_core, requires)


def _licence(package: Distribution) -> str:
    """Return the licence in a package's metadata: the SPDX expression, else the classifiers, else the licence field."""
    meta = package.metadata
    classifiers = [each.rpartition("::")[2].strip() for each in meta.get_all("Classifier") or () if each.startswith("License")]
    expression, field = ((meta.get_all(key) or [""])[0] for key in ("License-Expression", "License"))
    return expression or "; ".join(classifiers) or field.strip().partition("\n")[0]
