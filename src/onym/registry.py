"""Registries of built-in and plug-in components by short name: linkers, detectors, readers, corpus formats, output formats.

A built-in component is a module of its package and is named after its file. Modules with a leading underscore, `base`, and the
names in the package's `HELPERS` are not components. A plug-in is an installed package with an entry point in the group of its
kind. Configurations contain only these short names, never a path to code.

| components | package | entry point group | attributes of a component |
|---|---|---|---|
| linkers | `onym.linkers` | `onym.linkers` | `Config`, `open(config, kb, context)` |
| detectors | `onym.detect` | `onym.detectors` | `Config`, `open(config, kb, context)` |
| readers | `onym.kb.readers` | `onym.readers` | `matches(source)`, `read(source)`; with a `Config`: `read(source, config)` |
| formats | `onym.corpora.formats` | `onym.formats` | `matches(source)`, `read(source)`, `write(documents, output, style)` |
| components | none built in | `onym.components` | `place`; a class also has a `Config` |
| outputs | `onym.outputs` | `onym.outputs` | `ENDINGS`, `write(linked, file, context)`; or the same for terms |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from onym._version import __version__
from onym.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

OWN = "onym"


@dataclass(frozen=True, slots=True)
class Part:
    """A registered component. `package` is the installed package that provides it."""

    kind: str
    name: str
    package: str = OWN
    version: str = __version__
    load: Callable[[], Any] = field(default=lambda: None, repr=False, compare=False)

    @property
    def is_built_in(self) -> bool:
        """True if the component is part of Onym itself."""
        return self.package == OWN


class Registry:
    """The components of one kind.

    A package whose components recognise files defines an `ORDER` in which they are tried, from the most specific to the most
    general; components missing from `ORDER` are tried before its last one.

    >>> LINKERS.part("exact").package
    'onym'
    """

    def __init__(self, kind: str, package: str | None, group: str, has: tuple[str, ...]) -> None:
        self.kind, self.package, self.group, self._has = kind, package, group, has

    @cached_property
    def _own_parts(self) -> dict[str, Part]:
        return {name: Part(self.kind, name, load=partial(import_module, f"{self.package}.{name}")) for name in self._modules()}

    def _modules(self) -> list[str]:
        if self.package is None:
            return []
        package = import_module(self.package)
        found = sorted(each.name for each in iter_modules(package.__path__))
        helpers = ("base", *getattr(package, "HELPERS", ()))
        names = [name for name in found if not name.startswith("_") and name not in helpers]
        order: tuple[str, ...] = getattr(package, "ORDER", ())
        return [*order[:-1], *(name for name in names if name not in order), *order[-1:]]

    @cached_property
    def _plug_ins(self) -> tuple[Part, ...]:
        from importlib.metadata import entry_points  # lazy, because this import takes 0.1 s

        found = [_plug_in(self.kind, point) for point in entry_points(group=self.group)]
        return tuple(sorted((part for part in found if part.package != OWN), key=lambda part: (part.name, part.package)))

    @property
    def names(self) -> tuple[str, ...]:
        """The short names, built-in components first."""
        return tuple(dict.fromkeys([*self._own_parts, *(part.name for part in self._plug_ins)]))

    def __contains__(self, name: str) -> bool:
        return name in self._own_parts or name in self.names

    @property
    def names_in_order(self) -> tuple[str, ...]:
        """The short names in the order in which a file is tested: plug-ins before the last (most general) built-in."""
        own, names = list(self._own_parts), self.names
        return (*own[:-1], *names[len(own) :], *own[-1:])

    def part(self, name: str) -> Part:
        """Return the component with this name. Built-in components take precedence over plug-ins with the same name."""
        if name in self._own_parts:
            return self._own_parts[name]
        found = [part for part in self._plug_ins if part.name == name]
        if not found:
            fix = f"use one of {', '.join(self.names)}" if self.names else "install the package that provides it"
            raise ConfigError("part-unknown", f"no {self.kind} is named {name!r}", fix=fix)
        if len(found) > 1:
            what = f"{self.kind} {name!r} is offered by {' and by '.join(part.package for part in found)}"
            raise ConfigError("part-conflict", what, fix="uninstall one of them")
        return found[0]

    def load(self, name: str) -> Any:
        """Import the component with this name; raise ConfigError if a plug-in fails to import or lacks a required attribute."""
        part = self.part(name)
        if part.is_built_in:
            return part.load()
        try:
            found = part.load()
        except Exception as e:  # third-party code may raise anything
            raise self._make_error(part, f"raises {type(e).__name__} when it is imported") from e
        if missing := [each for each in self._has if not hasattr(found, each)]:
            raise self._make_error(part, f"has no {missing[0]}")
        return found

    def _make_error(self, part: Part, why: str) -> ConfigError:
        what = f"the {self.kind} {part.name!r} of {part.package} {part.version} {why}"
        return ConfigError("part-broken", what, fix=f"upgrade or uninstall {part.package}")

    def parts(self) -> list[tuple[Part, str]]:
        """Return every component with the reason why it cannot be used; empty for usable ones."""
        own = [(part, "") for part in self._own_parts.values()]
        return own + [(part, self._refusal(part)) for part in self._plug_ins]

    def _refusal(self, part: Part) -> str:
        if part.name in self._own_parts:
            return f"a built-in {self.kind} has this name"
        return "" if sum(part.name == other.name for other in self._plug_ins) == 1 else "several packages offer this name"


def _plug_in(kind: str, point: EntryPoint) -> Part:
    package = point.dist.name if point.dist else "unknown"
    return Part(kind, point.name, package, point.dist.version if point.dist else "", point.load)


LINKERS = Registry("linker", "onym.linkers", "onym.linkers", ("Config", "open"))
DETECTORS = Registry("detector", "onym.detect", "onym.detectors", ("Config", "open"))
READERS = Registry("reader", "onym.kb.readers", "onym.readers", ("matches", "read"))
FORMATS = Registry("format", "onym.corpora.formats", "onym.formats", ("matches", "read", "write"))
OUTPUTS = Registry("output", "onym.outputs", "onym.outputs", ())
COMPONENTS = Registry("component", None, "onym.components", ("place",))
REGISTRIES = (LINKERS, DETECTORS, READERS, FORMATS, OUTPUTS, COMPONENTS)
