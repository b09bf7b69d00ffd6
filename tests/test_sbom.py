"""Tests of the software bill of materials, and of the packages that it lists."""

from __future__ import annotations

import runpy
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker

CI = Path(__file__).parents[1] / ".ci"
LOCKED = {"numpy": ("2.1.0", "a" * 64), "scipy": ("1.15.0", "b" * 64)}


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(CI))
    return runpy.run_path(str(CI / "packages.py"))


@pytest.fixture
def sbom(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(CI))
    return runpy.run_path(str(CI / "sbom.py"))


def whole(sbom: dict[str, Any]) -> dict[str, Any]:
    """Return the bill of the installed packages, with a lock made from their versions."""
    needed = sbom["needed_packages"]()
    bill: dict[str, Any] = sbom["bill"](needed, {each.name: (each.version, "a" * 64) for each in needed})
    return bill


def test_bill_lists_core_extras_and_their_dependencies(sbom: dict[str, Any]) -> None:
    scopes = {each["name"]: each["scope"] for each in whole(sbom)["components"]}
    assert {name: scopes[name] for name in ("numpy", "pydantic-core", "spacy", "scipy")} == {
        "numpy": "required",
        "pydantic-core": "required",
        "spacy": "optional",
        "scipy": "optional",
    }
    assert not {"pytest", "ruff", "mkdocs", "onym"} & set(scopes), "development tools are not listed"


def test_bill_contains_licences_and_hashes(sbom: dict[str, Any]) -> None:
    rows = {each["name"]: each for each in whole(sbom)["components"]}
    expression = distribution("numpy").metadata["License-Expression"]
    assert rows["numpy"]["licenses"] == [{"expression": expression}]
    assert rows["numpy"]["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]
    assert "hashes" not in rows["torch"]
    assert all(row["licenses"] for row in rows.values())


def test_each_dependency_is_a_component(sbom: dict[str, Any]) -> None:
    bill = whole(sbom)
    known = {bill["metadata"]["component"]["bom-ref"], *(each["bom-ref"] for each in bill["components"])}
    links = {each["ref"]: each["dependsOn"] for each in bill["dependencies"]}
    assert set(links) == known
    assert {each for needed in links.values() for each in needed} <= known
    assert any(each.startswith("pkg:pypi/numpy@") for each in links[bill["metadata"]["component"]["bom-ref"]])


def test_bill_is_reproducible(sbom: dict[str, Any]) -> None:
    assert whole(sbom) == whole(sbom)


def test_quotes_local_version_parts(sbom: dict[str, Any]) -> None:
    assert sbom["_purl"]("torch", "2.13.0+cpu") == "pkg:pypi/torch@2.13.0%2Bcpu"


@pytest.mark.parametrize(("name", "version"), [("numpy", "2.2.0"), ("polars", "1.30.0")])
def test_installed_package_missing_from_the_lock_raises(sbom: dict[str, Any], name: str, version: str) -> None:
    package = sbom["Package"](name, version, "MIT", is_spdx=True, is_core=True, requires=())
    with pytest.raises(ValueError, match=f"{name} {version} is installed"):
        sbom["_component"](package, LOCKED)


def test_reads_the_lock(sbom: dict[str, Any]) -> None:
    locked = sbom["read_locked"]()
    assert len(locked) == len((CI / "locked" / "newest.txt").read_text().splitlines())
    assert all(version and len(digest) == 64 for version, digest in locked.values())


@pytest.mark.parametrize(
    "marker",
    [
        'python_version >= "3.9"',
        'python_version < "3.10"',
        'python_full_version >= "3.11.0" and sys_platform != "win32"',
        'sys_platform == "win32" or (os_name == "posix" and platform_python_implementation == "CPython")',
        '"linux" in sys_platform',
        'extra == "fast"',
        'python_version > "3" and extra == "slow"',
        'platform_system not in "Windows Darwin"',
    ],
)
def test_markers_agree_with_packaging(packages: dict[str, Any], marker: str) -> None:
    expected = any(Marker(marker).evaluate({"extra": extra}) for extra in ("", "fast"))
    assert packages["marker_holds"](marker, ["fast"]) is expected


def test_rejects_invalid_markers(packages: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not an environment marker"):
        packages["marker_holds"]("print('x')")


def test_rejects_invalid_requirement_lines(packages: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not a requirement"):
        packages["_split"]("; python_version")


def test_names_are_normalised(packages: dict[str, Any]) -> None:
    assert packages["normal_name"]("Sparse_dot.topn") == "sparse-dot-topn"
