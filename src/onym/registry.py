"""Registries of built-in and plug-in components by short name: linkers, detectors, readers, corpus formats, output formats.

A built-in component is a module, listed at the end of this file. A plug-in is an installed package with an entry point in the
group of its kind. Configurations contain only short names, never a path to code.

| components | entry point group | attributes of a component |
|---|---|---|
| linkers | `onym.linkers` | `Config`, `open(config, kb, context)` |
| detectors | `onym.detectors` | `Config`, `open(config, kb, context, only=...)` |
| readers | `onym.readers` | `matches(source)`, `read(source)`; with a `Config`: `read(source, config)` |
| formats | `onym.formats` | `matches(source)`, `read(source)`, `write(documents, output, style)` |
| components | `onym.components` | `place`; a class also has a `Config` |
| outputs | `onym.outputs` | `ENDINGS`, `write(linked, file, context)`; or the same for terms |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
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

    `modules` has the module of each built-in component by its short name. Components that recognise files are tried in this
    order, from the most specific to the most general; plug-ins are tried before the last one.

    >>> LINKERS.part("exact").package
    'onym'
    """

    def __init__(self, kind: str, modules: Mapping[str, str], group: str, has: tuple[str, ...]) -> None:
        self.kind, self.modules, self.group, self._has = kind, modules, group, has

    @cached_property
    def _own_parts(self) -> dict[str, Part]:
        return {name: Part(self.kind, name, load=partial(import_module, module)) for name, module in self.modules.items()}

    @cached_property
    def _plug_ins(self) -> tuple[Part, ...]:
        from importlib.metadata import entry_points  # lazy, because this import takes 0.1 s

        found = [_plug_in(self.kind, point) for point in entry_points(group=self.group)]
        return tuple(sorted((part for part in found if part.package != OWN), key=lambda part: (part.name, part.package)))

    @property
    def built_in(self) -> tuple[str, ...]:
        """The short names of the built-in components, in the order in which a file is tested."""
        return tuple(self.modules)

    @property
    def names(self) -> tuple[str, ...]:
        """The short names, built-in components first."""
        return tuple(dict.fromkeys([*self._own_parts, *(part.name for part in self._plug_ins)]))

    def __contains__(self, name: str) -> bool:
        return name in self._own_parts or name in self.names

    @property
    def names_in_order(self) -> tuple[str, ...]:
        """The short names in the order in which a file is tested: plug-ins before the last (most general) built-in."""
        own, names = self.built_in, self.names
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


def _modules(package: str, *names: str) -> dict[str, str]:
    return {name: f"{package}.{name}" for name in names}


LINKERS = Registry(
    "linker",
    {
        "by_type": "onym.methods.compose.by_type",
        "cascade": "onym.methods.compose.cascade",
        "collective": "onym.methods.collective.linker",
        "dense": "onym.methods.dense.linker",
        "exact": "onym.methods.exact",
        "generative": "onym.methods.generative.linker",
        "genes": "onym.methods.genes.linker",
        "organisms": "onym.methods.genes.organism_linker",
        "rerank": "onym.methods.reranker.linker",
        "tfidf": "onym.methods.tfidf",
        "variants": "onym.methods.variants.linker",
    },
    "onym.linkers",
    ("Config", "open"),
)
DETECTORS = Registry(
    "detector",
    {
        "dictionary": "onym.methods.dictionary.detector",
        "model": "onym.methods.tagger.detector",
        "several": "onym.methods.compose.several",
        "student": "onym.methods.student.detector",
        "variants": "onym.methods.variants.detector",
    },
    "onym.detectors",
    ("Config", "open"),
)
READERS = Registry(
    "reader",
    _modules(
        "onym.kb.readers",
        "umls",
        "rxnorm",
        "snomed",
        "mesh_xml",
        "icd10cm",
        "mesh_ascii",
        "ctd",
        "ncbi_gene",
        "hgnc",
        "gene_synonyms",
        "taxdump",
        "cellosaurus",
        "obo",
        "obograph",
        "entity_jsonl",
        "ontology_json",
        "genbioel",
        "mesh_table",
        "mesh_mappings",
        "biosyn",
        "table",
    ),
    "onym.readers",
    ("matches", "read"),
)
FORMATS = Registry(
    "format",
    _modules(
        "onym.corpora.formats",
        "parquet",
        "docbin",
        "brat",
        "biosyn",
        "genbioel",
        "pubtator",
        "pubmed",
        "bioc_xml",
        "bioc_json",
        "bigbio",
        "pubannotation",
        "label_studio",
        "doccano",
        "records",
        "jsonl",
        "medline",
        "ris",
        "hpo_gsc",
        "cometa",
        "askapatient",
        "table",
        "text",
    ),
    "onym.formats",
    ("matches", "read", "write"),
)
OUTPUTS = Registry(
    "output", _modules("onym.outputs", "fhir", "html", "omop", "predictions", "sssom", "table"), "onym.outputs", ()
)
COMPONENTS = Registry("component", {}, "onym.components", ("place",))
REGISTRIES = (LINKERS, DETECTORS, READERS, FORMATS, OUTPUTS, COMPONENTS)
