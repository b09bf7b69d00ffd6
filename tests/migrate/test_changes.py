"""Tests of the changes between two releases as files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.migrate.changes import ChangeReport, require_changes, write_changes, write_replacements

OLD = """[Term]
id: T:1
name: root

[Term]
id: T:2
name: patient's <b>fever</b>
is_a: T:1

[Term]
id: T:3
name: two things
is_a: T:1

[Term]
id: T:4
name: cold
synonym: "chill" EXACT []
is_a: T:1

[Term]
id: T:5
name: cough
is_a: T:1

[Term]
id: T:7
name: tussis
is_a: T:1
"""
NEW = """[Term]
id: T:1
name: root

[Term]
id: T:6
name: symptom
is_a: T:1

[Term]
id: T:2
name: pyrexia
is_a: T:6

[Term]
id: T:3
name: obsolete two things
is_obsolete: true
consider: T:4
consider: T:5

[Term]
id: T:4
name: cold
is_a: T:1

[Term]
id: T:5
name: cough
alt_id: T:7
synonym: "chill" EXACT []
is_a: T:1
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> ChangeReport:
    folder = tmp_path_factory.mktemp("changes")
    kbs = []
    for name, text in (("old", OLD), ("new", NEW)):
        (folder / f"{name}.obo").write_text(text)
        build_kb(Recipe.of({"sources": [{"path": f"{name}.obo"}]}), folder / name, root=folder)
        kbs.append(KnowledgeBase.open(folder / name))
    return ChangeReport.of(*kbs)


def write(report: ChangeReport, path: Path) -> str:
    write_changes(report, path)
    return path.read_text()


def test_kgcl_has_a_line_for_each_change(report: ChangeReport, tmp_path: Path) -> None:
    lines = write(report, tmp_path / "changes.kgcl").splitlines()
    assert lines == [
        "create class T:6 'symptom'",
        "rename T:2 from 'patient\\'s <b>fever</b>' to 'pyrexia'",
        "obsolete T:7 with replacement T:5",
        "obsolete T:3 with alternative T:4,T:5",
        "create synonym 'chill' for T:5",
        "remove synonym 'chill' for T:4",
        "move T:2 from T:1 to T:6",
    ]


def test_html_escapes_names_and_shows_the_dangerous_names_first(report: ChangeReport, tmp_path: Path) -> None:
    page = write(report, tmp_path / "changes.html")
    assert "<b>fever" not in page
    assert "&lt;b&gt;fever" in page
    assert page.index("Names that changed concept") < page.index("Split") < page.index("Added")


def test_markdown_has_a_table_for_each_kind_that_occurs(report: ChangeReport, tmp_path: Path) -> None:
    text = write(report, tmp_path / "changes.md")
    assert "| chill | T:4 | cold | T:5 | cough |" in text
    assert "## Removed" not in text


def test_json_has_all_changes(report: ChangeReport, tmp_path: Path) -> None:
    values = json.loads(write(report, tmp_path / "changes.json"))
    assert values["counts"]["kept"] == 4
    assert values["merged"] == [{"id": "t:7", "name": "tussis", "into": "t:5", "new": "cough", "why": "merged into"}]


def test_sssom_tells_replacements_from_suggestions(report: ChangeReport, tmp_path: Path) -> None:
    lines = write(report, tmp_path / "changes.sssom.tsv").splitlines()
    rows = csv.DictReader([line for line in lines if not line.startswith("#")], dialect="excel-tab")
    assert [(row["subject_id"], row["predicate_id"], row["object_id"]) for row in rows] == [
        ("t:3", "oboInOwl:consider", "t:4"),
        ("t:3", "oboInOwl:consider", "t:5"),
        ("t:7", "IAO:0100001", "t:5"),
    ]


def test_the_table_of_replacements_counts_changes(report: ChangeReport, tmp_path: Path) -> None:
    assert write_replacements(report.old, report.new, tmp_path / "replaced.tsv") == {"moved": 1, "several": 1}
    assert (tmp_path / "replaced.tsv").read_text().splitlines()[2] == "T:7\ttussis\tT:5\tcough\t\tmoved\tmerged into"


def test_an_unknown_ending_is_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="format-unknown"):
        require_changes(tmp_path / "changes.doc")
