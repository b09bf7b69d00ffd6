"""Tests of the registries of built-in components and plug-ins."""

from __future__ import annotations

import importlib.metadata
import re
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import onym
from onym.errors import ConfigError
from onym.registry import DETECTORS, FORMATS, LINKERS, OUTPUTS, READERS, REGISTRIES, Registry


class Package:
    """The distribution of a fake entry point."""

    def __init__(self, name: str) -> None:
        self.name, self.version = name, "1.0"


def points(monkeypatch: pytest.MonkeyPatch, *named: tuple[str, str], value: str = "onym.methods.exact") -> Registry:
    """Return a linker registry with entry points of these names and packages."""

    def entry_points(group: str) -> list[Any]:
        assert group == "onym.linkers"
        found = []
        for name, package in named:
            point = EntryPoint(name, value, group)
            vars(point)["dist"] = Package(package)
            found.append(point)
        return found

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    return Registry("linker", LINKERS.modules, "onym.linkers", ("Config", "open"))


def test_lists_every_module_that_is_a_component() -> None:
    """A linker or a detector is a module of `onym.methods` with a `Config` and a function `open`."""
    source = Path(onym.__file__).parent
    methods = (path for path in (source / "methods").rglob("*.py") if re.search(r"^def open\(", path.read_text("utf-8"), re.M))
    written = {".".join(("onym", *path.relative_to(source).with_suffix("").parts)) for path in methods}
    listed = [*LINKERS.modules.values(), *DETECTORS.modules.values()]
    assert sorted(listed) == sorted(written)


@pytest.mark.parametrize(("parts", "has"), [(READERS, "def read"), (FORMATS, "def read"), (OUTPUTS, "(?:TERM_)?ENDINGS")])
def test_lists_every_module_of_a_package_of_components(parts: Registry, has: str) -> None:
    (package,) = {module.rpartition(".")[0] for module in parts.modules.values()}
    folder = Path(onym.__file__).parent.joinpath(*package.split(".")[1:])
    found = [path.stem for path in folder.glob("[a-z]*.py") if re.search(rf"^{has}\b", path.read_text("utf-8"), re.M)]
    assert sorted(parts.built_in) == sorted(found)


def test_names_of_components() -> None:
    trained = ("collective", "dense", "generative", "genes", "organisms", "rerank")
    assert LINKERS.names == tuple(sorted((*trained, "by_type", "cascade", "exact", "tfidf", "variants")))
    assert DETECTORS.names == ("dictionary", "model", "several", "student", "variants")
    assert READERS.names[0] == "umls"
    assert READERS.names_in_order[-1] == "table"
    assert FORMATS.names_in_order[-1] == "text"


@pytest.mark.parametrize("parts", REGISTRIES, ids=lambda each: each.kind)
def test_rejects_paths_as_names(parts: Registry) -> None:
    for name in ("os", "onym.methods.exact", "base", "_nearest", "..exact", "", "exact:open"):
        with pytest.raises(ConfigError, match="part-unknown"):
            parts.load(name)


@pytest.mark.parametrize("parts", [LINKERS, DETECTORS], ids=lambda each: each.kind)
def test_components_have_config_and_open(parts: Registry) -> None:
    for name in parts.names:
        module = parts.load(name)
        assert module.Config.model_fields["kind"].default == name
        assert callable(module.open)
        assert all(info.description for info in module.Config.options().values())


def test_plug_in_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    found = points(monkeypatch, ("soundex", "onym-soundex"))
    assert found.names[-1] == "soundex"
    assert (found.part("soundex").package, found.part("soundex").version) == ("onym-soundex", "1.0")
    assert found.load("soundex").__name__ == "onym.methods.exact"


def test_a_kind_without_built_in_parts() -> None:
    found = Registry("component", {}, "onym.nothing", ("place",))
    assert (found.names, found.parts()) == ((), [])
    with pytest.raises(ConfigError, match="no component is named 'sections'") as caught:
        found.load("sections")
    assert (caught.value.code, caught.value.fix) == ("part-unknown", "install the package that provides it")


def test_a_plug_in_cannot_take_the_name_of_a_built_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    found = points(monkeypatch, ("exact", "evil"))
    assert found.part("exact").package == "onym"
    assert [(part.package, bool(refusal)) for part, refusal in found.parts() if part.name == "exact"] == [
        ("onym", False),
        ("evil", True),
    ]


def test_rejects_two_plug_ins_with_the_same_name(monkeypatch: pytest.MonkeyPatch) -> None:
    found = points(monkeypatch, ("soundex", "one"), ("soundex", "two"))
    with pytest.raises(ConfigError, match="part-conflict"):
        found.load("soundex")
    assert all(refusal for part, refusal in found.parts() if part.name == "soundex")


@pytest.mark.parametrize("value", ["no.such.module", "json", "onym.methods.exact:nothing"])
def test_broken_plug_in_does_not_affect_others(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    found = points(monkeypatch, ("soundex", "onym-soundex"), value=value)
    assert found.load("exact")
    with pytest.raises(ConfigError, match="part-broken"):
        found.load("soundex")
