"""`onym kb show`: parents, the tree, and retired ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import onym

OBO = """format-version: 1.2

[Term]
id: X:1
name: all

[Term]
id: X:2
name: heart disease
is_a: X:1

[Term]
id: X:3
name: vascular disease
is_a: X:1
alt_id: X:30

[Term]
id: X:4
name: infarction
is_a: X:2
is_a: X:3

[Term]
id: X:8
is_obsolete: true
consider: X:2
consider: X:3

[Term]
id: X:9
is_obsolete: true
"""
_CHILDREN = "".join(f"\n[Term]\nid: X:{number}\nname: kind {number}\nis_a: X:4\n" for number in range(100, 117))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with knowledge bases: with one source, with two, of MeSH, and without a hierarchy."""
    folder = tmp_path_factory.mktemp("show")
    (folder / "x.obo").write_text(OBO + _CHILDREN)
    (folder / "y.tsv").write_text("id\tname\tparents\nx:4\tinfarct\tx:3|y:1\ny:1\tnecrosis\t\n")
    (folder / "mesh.tsv").write_text("D000001\tdrugs\t\tD01\nD000002\tacids\t\tD01.1\n")
    (folder / "supp.tsv").write_text("C000001\tmade acid\t\tD000002\n")
    (folder / "flat.tsv").write_text("id\tname\nx:1\tfever\n")
    for name, sources in {
        "x": ["x.obo"],
        "xy": ["x.obo", "y.tsv"],
        "m": ["mesh.tsv", "supp.tsv"],
        "flat": ["flat.tsv"],
    }.items():
        onym("kb", "build", *sources, "-o", f"kb-{name}", cwd=folder)
    return folder


def show(folder: Path, name: str, *words: str) -> list[str]:
    """Return the lines that `onym kb show` prints."""
    return onym("kb", "show", f"kb-{name}", *words, cwd=folder).stdout.splitlines()


def show_json(folder: Path, name: str, *words: str) -> dict[str, Any]:
    """Return the values that `onym kb show --json` prints."""
    values: dict[str, Any] = json.loads("".join(show(folder, name, *words, "--json")))
    return values


def test_each_parent_has_a_line(folder: Path) -> None:
    lines = show(folder, "x", "X:4")
    assert [line for line in lines if line.startswith("parent")] == [
        "parent\tx:2 heart disease",
        "parent\tx:3 vascular disease",
    ]


def test_kinds_and_sources_are_shown_if_there_are_several(folder: Path) -> None:
    parents = [line for line in show(folder, "xy", "X:4") if line.startswith("parent")]
    assert parents == [
        "parent\tx:2 heart disease  [is a, x]",
        "parent\tx:3 vascular disease  [is a, x; is a, y]",
        "parent\ty:1 necrosis  [is a, y]",
    ]
    assert "  * x:4 infarction  [is a, y]" in show(folder, "xy", "X:4", "--tree")


def test_the_tree_has_all_paths_and_some_children(folder: Path) -> None:
    lines = show(folder, "x", "X:4", "--tree")
    assert lines[:4] == ["x:1 all", "  x:2 heart disease", "    * x:4 infarction", "        x:100 kind 100"]
    assert lines[17:] == [
        "        x:114 kind 114",
        "        ... 2 more children",
        "  x:3 vascular disease",
        "    * x:4 infarction",
        "        ... as above",
    ]


def test_the_tree_of_a_concept_at_the_top(folder: Path) -> None:
    assert show(folder, "x", "X:1", "--tree") == ["* x:1 all", "    x:2 heart disease", "    x:3 vascular disease"]


def test_more_paths_than_are_shown(folder: Path) -> None:
    levels = [f"z:{level}{side}\tn\tz:{level - 1}a|z:{level - 1}b\n" for level in range(1, 6) for side in "ab"]
    (folder / "z.tsv").write_text("id\tname\tparents\nz:0a\tn\t\nz:0b\tn\t\n" + "".join(levels))
    onym("kb", "build", "z.tsv", "-o", "kb-z", cwd=folder)
    lines = show(folder, "z", "z:5a", "--tree")
    assert sum("*" in line for line in lines) == 12
    assert lines[-1] == "... more than 12 paths"
    values = show_json(folder, "z", "z:5a", "--tree")
    assert (len(values["paths"]), values["more_paths"]) == (12, True)


def test_a_long_chain_is_shown_from_its_lowest_levels(folder: Path) -> None:
    chain = "".join(f"c:{level}\tn\tc:{level - 1}\n" for level in range(1, 2_000))
    (folder / "c.tsv").write_text("id\tname\tparents\nc:0\tn\t\n" + chain)
    onym("kb", "build", "c.tsv", "-o", "kb-c", cwd=folder)
    lines = show(folder, "c", "c:1999", "--tree")
    assert (lines[0], len(lines)) == ("... 1,900 levels above", 101)
    assert max(map(len, lines)) < 300


def test_mapped_headings_are_not_parents(folder: Path) -> None:
    assert show(folder, "m", "C000001", "--tree") == ["* mesh:C000001 made acid", "    mapped to mesh:D000002 acids"]
    assert "mapped to\tmesh:D000002 acids" in show(folder, "m", "C000001")
    assert show(folder, "m", "D000002", "--tree")[1:] == [
        "  * mesh:D000002 acids",
        "      ... 1 supplementary record is mapped to it",
    ]


def test_json_has_the_same_facts(folder: Path) -> None:
    values = show_json(folder, "x", "X:4", "--tree")
    assert values["parents"][0] == {"id": "x:2", "name": "heart disease", "kind": "is a", "source": "x"}
    assert len(values["children"]) == 17
    assert [[each["id"] for each in path] for path in values["paths"]] == [["x:1", "x:2", "x:4"], ["x:1", "x:3", "x:4"]]
    assert (values["matched"], values["how"], values["successors"], values["more_paths"]) == ("x:4", "id", [], False)
    assert not {"paths", "children"} & show_json(folder, "x", "X:4").keys()


def test_a_replaced_id_says_so(folder: Path) -> None:
    assert show(folder, "x", "X:30")[:3] == ["retired id\tx:30", "merged into\tx:3 vascular disease  [x]", "id\tx:3"]
    assert show(folder, "x", "X:30", "--tree")[2] == "x:1 all"
    values = show_json(folder, "x", "X:30")
    assert (values["id"], values["matched"], values["how"]) == ("x:3", "x:30", "replaced")


def test_a_retired_id_lists_what_to_consider(folder: Path) -> None:
    consider = ["retired id\tx:8", "consider\tx:2 heart disease  [x]", "consider\tx:3 vascular disease  [x]"]
    assert show(folder, "x", "X:8") == show(folder, "x", "X:8", "--tree") == consider
    values = show_json(folder, "x", "X:8")
    assert (values["id"], values["how"]) == ("x:8", "retired")
    assert values["successors"][0] == {"target": "x:2", "kind": "consider", "source": "x", "release": ""}
    assert show(folder, "x", "X:9") == ["retired id\tx:9", "successor\tnone known"]


def test_without_a_hierarchy_only_the_tree_is_an_error(folder: Path) -> None:
    assert show(folder, "flat", "x:1") == ["id\tx:1", "preferred\tfever  [flat]"]
    failed = onym("kb", "show", "kb-flat", "x:1", "--tree", cwd=folder, status=2).stderr
    assert "[hierarchy-missing]" in failed
    assert "build the knowledge base again" in failed
