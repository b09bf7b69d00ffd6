"""Imports of the product: layers, cycles, private names and modules with one importer.

All imports count: at module level, inside functions, and under TYPE_CHECKING. A name imported from `onym` itself counts as
an import of the module that defines it.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# Layers from top to bottom: a package may import only packages on lines below its own.
LAYERS = (
    ("testing",),
    ("cli",),
    ("serve", "integrations"),
    ("migrate",),
    ("batch", "review", "train"),
    ("evaluate",),
    ("packs",),
    ("outputs",),
    ("pipeline",),
    ("linkers", "corrections"),
    ("genes",),
    ("rerank",),
    ("calibrate", "detect", "decoding", "index"),
    ("models", "trie", "datasets", "variants"),
    ("corpora",),
    ("kb",),
    ("text",),
    ("parts",),
    ("store",),
    ("config", "vocabularies", "workers"),
    ("registry", "types"),
    ("fields",),
    ("errors",),
    ("_lazy", "_version"),
)
LAYER = {package: number for number, packages in enumerate(LAYERS) for package in packages}
ANY_LAYER = ("__init__", "__main__")  # `import onym` and `python -m onym` may import every package

# Packages in which every module is a plug-in (output, engine or adapter), besides those of `registry.py` and entry points.
PLUG_INS = ("outputs", "batch.engines", "decoding.adapters")
COMMANDS, COMMAND = "cli", "command"  # each command is a module of `cli` that defines the function `command`
# Modules that import other modules of their own package to list them: `from onym.datasets import bc5cdr, cometa`.
CATALOGUES = ("onym.datasets.catalogue",)
_REGISTRY = re.compile(r'Registry\(\s*"[\w-]+",\s*"onym\.([\w.]+)"')


@dataclass(frozen=True)
class Import:
    """One imported name; `written` is the module in the statement, `owner` the module that defines the name."""

    module: str
    line: int
    written: str
    name: str
    owner: str


def package_of(module: str) -> str:
    """Return the top-level package or module below `onym`.

    >>> package_of("onym.kb.readers.obo"), package_of("onym")
    ('kb', '__init__')
    """
    return [*module.split("."), "__init__"][1]


class Source:
    """The modules of a package `onym` at `src`, and what they import."""

    def __init__(self, src: Path) -> None:
        self.src = src
        self.files = {_module_name(path, src): path for path in sorted(src.rglob("*.py"))}
        self.trees = {name: ast.parse(path.read_text("utf-8")) for name, path in self.files.items()}

    def path(self, module: str) -> str:
        return self.files[module].relative_to(self.src).as_posix()

    def is_package(self, module: str) -> bool:
        return self.files[module].name == "__init__.py"

    @cached_property
    def imports(self) -> list[Import]:
        """All imports between modules of the package."""
        return [found for module in self.files for found in self._imports_of(module) if found.owner != module]

    def _imports_of(self, module: str) -> Iterator[Import]:
        for line, target, name in self._iter_statements(module):
            inner = f"{target}.{name}"
            yield Import(module, line, *((inner, "") if inner in self.files else (target, name)), self._owner(target, name))

    def _iter_statements(self, module: str) -> Iterator[tuple[int, str, str]]:
        """Yield line, module and name of each import statement, and of each use of `import onym`."""
        roots = set()
        for node in ast.walk(self.trees[module]):
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name, "") for alias in node.names if alias.name.startswith("onym."))
                roots |= {alias.asname or "onym" for alias in node.names if alias.name.split(".")[0] == "onym"}
            elif isinstance(node, ast.ImportFrom) and (target := self._from(module, node)) in self.files:
                yield from ((node.lineno, target, alias.name) for alias in node.names)
        for node in ast.walk(self.trees[module]):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in roots:
                yield node.lineno, "onym", node.attr

    def _from(self, module: str, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        base = module.split(".") if self.is_package(module) else module.split(".")[:-1]
        return ".".join([*base[: len(base) - node.level + 1], *filter(None, [node.module])])

    def _owner(self, target: str, name: str) -> str:
        """Return the module that defines a name: the module itself, or the one from which a package re-exports it."""
        if f"{target}.{name}" in self.files:
            return f"{target}.{name}"
        while target not in self.files:
            target = target.rpartition(".")[0]
        exported = self._exports.get(target, {}).get(name)
        return self._owner(*exported) if exported else target

    @cached_property
    def _exports(self) -> dict[str, dict[str, tuple[str, str]]]:
        """The re-exports of each `__init__`; lazy ones are found by their import under TYPE_CHECKING."""
        found: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
        for package in filter(self.is_package, self.files):
            for node in ast.walk(self.trees[package]):
                if isinstance(node, ast.ImportFrom) and (target := self._from(package, node)) in self.files:
                    found[package] |= {alias.asname or alias.name: (target, alias.name) for alias in node.names}
        return found

    def _where(self, found: Import) -> str:
        return f"{self.path(found.module)}:{found.line}"

    def cycles(self) -> list[list[str]]:
        """Return the import cycles, as groups of modules."""
        graph: dict[str, set[str]] = {module: set() for module in self.files}
        for found in self.imports:
            # `onym.load` counts as an import of the module that defines `load`, not of everything that `onym` exports
            graph[found.module] |= {found.owner} if found.written == "onym" else {found.owner, found.written} - {found.module}
        return [group for group in _components(graph) if len(group) > 1]

    def upward(self) -> list[str]:
        """Return the imports of packages that are not in a lower layer, each once."""
        found: dict[str, None] = {}
        for each in self.imports:
            own, other = package_of(each.module), package_of(each.owner if each.written == "onym" else each.written)
            if own not in ANY_LAYER and own != other and LAYER.get(other, -1) <= LAYER.get(own, len(LAYERS)):
                found[f"{self._where(each)}: {own} imports {other}"] = None
        return list(found)

    def private(self) -> list[str]:
        """Return the imports of private modules or names from outside their folder."""
        found: dict[str, None] = {}
        for each in self.imports:
            folder, name = self._private(each)
            if folder and not f"{self._folder(each.module)}.".startswith(f"{folder}."):
                found[f"{self._where(each)}: {name} of {folder}"] = None
        return list(found)

    def _private(self, found: Import) -> tuple[str, str]:
        """Return the only folder that may import this name, and the name. The folder is empty if the name is public."""
        parts = found.written.split(".")
        for depth, part in enumerate(parts):
            if _is_private(part):
                return ("" if depth == 1 else ".".join(parts[:depth])), part  # every module of onym may import `onym._version`
        return (self._folder(found.written) if _is_private(found.name) else ""), found.name

    def _folder(self, module: str) -> str:
        return module if self.is_package(module) else module.rpartition(".")[0]

    def one_importer(self) -> tuple[list[str], int]:
        """Return the modules that exactly one other module imports, and the number of modules checked."""
        importers: dict[str, set[str]] = defaultdict(set)
        for found in self.imports:
            if not self.is_package(found.module):
                importers[found.owner].add(found.module)
        modules = [module for module in self.files if not self._is_plug_in(module)]
        return [module for module in modules if len(importers[module]) == 1], len(modules)

    def _is_plug_in(self, module: str) -> bool:
        path = Path(self.path(module))
        if path.name in ("__init__.py", "__main__.py") or module in self._entry_points | self._owners_of_catalogues:
            return True
        if path.parts[0] == COMMANDS:
            return any(getattr(node, "name", "") == COMMAND for node in self.trees[module].body)
        is_plug_in = not path.name.startswith("_") and path.name != "base.py"
        return is_plug_in and self._folder(module).removeprefix("onym.") in self._plug_in_packages

    @cached_property
    def _plug_in_packages(self) -> tuple[str, ...]:
        registry = self.src / "registry.py"
        return (*PLUG_INS, *(_REGISTRY.findall(registry.read_text("utf-8")) if registry.exists() else ()))

    @cached_property
    def _owners_of_catalogues(self) -> set[str]:
        return {each.owner for each in self.imports if each.module in CATALOGUES and not each.name}

    @cached_property
    def _entry_points(self) -> set[str]:
        project = self.src.parents[1] / "pyproject.toml"
        return set(re.findall(r'= "(onym[\w.]*):\w+"', project.read_text("utf-8"))) if project.exists() else set()


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _module_name(path: Path, src: Path) -> str:
    parts = ["onym", *path.relative_to(src).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _components(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components."""
    reached = {name: _reach(graph, name) for name in graph}
    groups = {name: tuple(sorted({name} | {other for other in reached[name] if name in reached[other]})) for name in graph}
    return [list(group) for group in dict.fromkeys(groups.values())]


def _reach(graph: Mapping[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    todo = [start]
    while todo:
        new = graph[todo.pop()] - reached
        reached |= new
        todo += new
    return reached
