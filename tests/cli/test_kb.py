"""Tests of `onym kb` on the command line: output, messages, exit statuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.command import onym

OBO = """format-version: 1.2

[Term]
id: HP:0000001
name: All

[Term]
id: HP:0001658
name: Myocardial infarction
synonym: "Heart attack" EXACT layperson []
xref: UMLS:C0027051

[Term]
id: HP:0000009
name: obsolete thing
is_obsolete: true
replaced_by: HP:0001658
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    (folder / "hp.obo").write_text(OBO)
    onym("kb", "build", "hp.obo", "-o", "hp", cwd=folder)
    return folder


def test_build_prints_counts_and_json(folder: Path) -> None:
    lines = dict(line.split("\t") for line in onym("kb", "build", "hp.obo", "-o", "plain", cwd=folder).stdout.splitlines())
    assert lines["concepts"] == "2"
    answer = json.loads(onym("kb", "build", "hp.obo", "-o", "again", "--json", cwd=folder).stdout)
    assert answer["counts"]["names"] == 3


def test_options_override_the_recipe(folder: Path) -> None:
    (folder / "kb.toml").write_text('shared_names = "keep"\n[[sources]]\npath = "hp.obo"\nname = "HPO"\n')
    onym("kb", "build", "kb.toml", "-o", "recipe", "--shared-names", "fewest", cwd=folder)
    info = json.loads(onym("kb", "info", "recipe", "--json", cwd=folder).stdout)
    assert info["config"]["shared_names"] == "fewest"
    assert info["config"]["sources"][0]["name"] == "HPO"


def test_build_from_a_spreadsheet_with_named_columns(folder: Path) -> None:
    (folder / "mine.csv").write_text('Code,Term\n17,"Fever, high"\n')
    onym(
        "kb", "build", "mine.csv", "-o", "mine", "--column", "id=Code", "--column", "name=Term", "--prefix", "local", cwd=folder
    )
    shown = json.loads(onym("kb", "show", "mine", "local:17", "--json", cwd=folder).stdout)
    assert shown["terms"][0]["form"] == "Fever, high"
    assert "config-invalid" in onym("kb", "build", "mine.csv", "-o", "x", "--column", "id", cwd=folder, status=2).stderr


def test_info_shows_inputs_and_dropped_counts(folder: Path) -> None:
    text = onym("kb", "info", "hp", cwd=folder).stdout
    assert "hp.obo" in text
    assert "kind: retired: 1" in text


def test_search_and_show(folder: Path) -> None:
    assert onym("kb", "search", "hp", "heart attack", cwd=folder).stdout.split("\t")[0] == "hp:0001658"
    assert json.loads(onym("kb", "search", "hp", "heart", "--json", cwd=folder).stdout)[0]["match"] == "prefix"
    assert "umls:C0027051" in onym("kb", "show", "hp", "HP:0000009", cwd=folder).stdout


def test_types_and_joins_are_listed(folder: Path) -> None:
    (folder / "mesh.tsv").write_text("id\tname\tsemantic_types\txrefs\nmesh:D9\tHeart attack\tC14\thp:0001658\n")
    (folder / "both.toml").write_text('groups = true\n[[sources]]\npath = "mesh.tsv"\n[[sources]]\npath = "hp.obo"\n')
    onym("kb", "build", "both.toml", "-o", "both", cwd=folder)
    types = onym("kb", "types", "both", cwd=folder).stdout.splitlines()
    assert types == ["group\tDisease\t1", "group\tPhenotype\t2", "type\tC14\t1"]
    joins = onym("kb", "joins", "both", cwd=folder)
    assert joins.stdout == "hp:0001658\tmesh:D9\tone-to-one\n"
    assert json.loads(onym("kb", "joins", "both", "--json", cwd=folder).stdout)["counts"] == {"one-to-one": 1}
    onym("kb", "build", "both.toml", "-o", "undone", "--undo", "hp:0001658", cwd=folder)
    assert onym("kb", "joins", "undone", cwd=folder).stdout == ""


def test_unknown_concept_exits_with_3(folder: Path) -> None:
    assert "[concept-unknown]" in onym("kb", "show", "hp", "HP:77", cwd=folder, status=3).stderr
    error = json.loads(onym("kb", "show", "hp", "HP:77", "--json", cwd=folder, status=3).stderr)["error"]
    assert error["code"] == "concept-unknown"


def test_check_exits_with_4_if_corrupt(folder: Path) -> None:
    assert "ok" in onym("kb", "check", "hp", cwd=folder).stdout
    shutil.copytree(folder / "hp", folder / "torn")
    next((folder / "torn").glob("*/names.data.npy")).write_bytes(b"")
    assert json.loads(onym("kb", "check", "torn", "--json", cwd=folder, status=4).stdout)[0]["level"] == "error"
    assert "[artefact-corrupt]" in onym("kb", "info", "torn", cwd=folder, status=4).stderr


def test_diff_lists_changes(folder: Path) -> None:
    (folder / "newer.obo").write_text(OBO.replace("Myocardial infarction", "Myocardial infarct"))
    onym("kb", "build", "newer.obo", "-o", "newer", cwd=folder)
    done = onym("kb", "diff", "hp", "newer", cwd=folder)
    assert "renamed\tHP:0001658\tMyocardial infarction\tMyocardial infarct\n" in done.stdout
    assert "renamed 1" in done.stderr
    assert json.loads(onym("kb", "diff", "hp", "newer", "--json", cwd=folder).stdout)["counts"]["renamed"] == 1


def test_export_does_not_overwrite(folder: Path) -> None:
    onym("kb", "export", "hp", "--format", "biosyn", "-o", "hp.txt", cwd=folder)
    assert (folder / "hp.txt").read_text().splitlines()[0] == "hp:0000001||all"
    assert "[output-exists]" in onym("kb", "export", "hp", "-o", "hp.txt", cwd=folder, status=2).stderr
    onym("kb", "export", "hp", "-o", "hp.txt", "--force", cwd=folder)
    assert "curie" in onym("kb", "export", "hp", "-o", "loud.txt", "--id-style", "loud", cwd=folder, status=2).stderr


def test_download_explains_how_to_get_licensed_releases(folder: Path) -> None:
    error = json.loads(onym("kb", "download", "umls", "--json", cwd=folder, status=2).stderr)["error"]
    assert error["code"] == "release-licensed"
    assert "Apply for a licence" in error["fix"]
    assert "release-unknown" in onym("kb", "download", "icd", cwd=folder, status=2).stderr


def test_exceeded_limit_exits_with_6(folder: Path) -> None:
    (folder / "long.obo").write_bytes(b"x" * 3_000_000)
    assert "[limit-line]" in onym("kb", "build", "long.obo", "-o", "x", cwd=folder, status=6).stderr


def test_usage_error_exits_with_2(folder: Path) -> None:
    onym("kb", "build", cwd=folder, status=2)
    assert "[part-unknown]" in onym("kb", "build", "hp.obo", "--format", "pdf", "-o", "x", cwd=folder, status=2).stderr


@pytest.mark.parametrize("command", ["build", "info", "search", "show", "check", "diff", "export", "download"])
def test_each_help_has_an_example(folder: Path, command: str) -> None:
    assert f"Example: onym kb {command}" in " ".join(onym("kb", command, "--help", cwd=folder).stdout.replace("│", " ").split())


def test_version(folder: Path) -> None:
    assert onym("--version", cwd=folder).stdout.strip() == "0.1.0"


def test_build_lists_ignored_files(tmp_path: Path) -> None:
    (tmp_path / "mesh").mkdir()
    (tmp_path / "mesh" / "a.obo").write_text(OBO)
    (tmp_path / "mesh" / "b.tsv").write_text("D000001\tCalcimycin\tA-23187\tD03.633\n")
    done = onym("kb", "build", "mesh", "-o", "kb", "--json", cwd=tmp_path)
    assert "ignored 1 file (format mesh_table, but the release is read as obo): mesh/b.tsv; --format mesh_table" in done.stderr
    assert [file["name"] for file in json.loads(done.stdout)["ignored"]] == ["mesh/b.tsv"]
    assert "mesh/b.tsv: format mesh_table" in onym("kb", "info", "kb", cwd=tmp_path).stdout


@pytest.mark.parametrize("words", [("search", "starter", "heart attack"), ("show", "starter", "MONDO:0005068")])
def test_accepts_a_pipeline_as_knowledge_base(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert "mesh:D009203" in onym("kb", *words, cwd=tmp_path).stdout


def test_folder_takes_precedence_over_pipeline_name(tmp_path: Path) -> None:
    (tmp_path / "ward.csv").write_text("id,name\nward:1,Heart attack\n")
    onym("kb", "build", "ward.csv", "-o", "starter", cwd=tmp_path)
    assert onym("kb", "search", "starter", "heart attack", cwd=tmp_path).stdout.startswith("ward:1\t")
    assert onym("kb", "diff", "starter", "starter", cwd=tmp_path).stderr == "kept 1\n"


def test_reports_a_pipeline_that_is_not_installed(tmp_path: Path) -> None:
    env = {"ONYM_CACHE": str(tmp_path)}
    assert "onym get hpo-phenotypes" in onym("kb", "info", "hpo-phenotypes", cwd=tmp_path, status=3, env=env).stderr
    assert "[artefact-missing]" in onym("kb", "info", "absent", cwd=tmp_path, status=4, env=env).stderr
