"""Tests of project files: citation, hooks, issue forms, workflows."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import onym

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
PINNED = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}")
PINNED_LINE = re.compile(r"\s*-? uses: \S+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def jobs(path: Path) -> dict[str, Any]:
    found = read(path)["jobs"]
    assert found
    return dict(found)


def steps(path: Path) -> list[dict[str, Any]]:
    # A job that calls another workflow has no steps.
    return [step for job in jobs(path).values() for step in job.get("steps", [])]


def test_installed_package_has_this_version() -> None:
    assert onym.__version__ == PROJECT["project"]["version"]


def test_the_extra_all_has_every_other_extra() -> None:
    extras = dict(PROJECT["project"]["optional-dependencies"])
    assert extras.pop("all") == [f"onym[{','.join(extras)}]"]


def test_citation_has_this_version() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == PROJECT["project"]["version"]
    assert citation["license"] == PROJECT["project"]["license"]
    assert citation["authors"] == PROJECT["project"]["authors"]
    assert citation["keywords"] == PROJECT["project"]["keywords"]


def test_the_citation_names_the_papers() -> None:
    papers = {each["notes"].partition(":")[0]: each for each in read(ROOT / "CITATION.cff")["references"]}
    assert {name: len(paper["authors"]) for name, paper in papers.items()} == {
        "GenBioEL": 3,
        "ANGEL": 6,
        "SapBERT": 5,
        "The collective linker": 3,
    }
    assert all(paper["year"] and (paper.get("doi") or paper.get("url")) for paper in papers.values())


def test_hooks_use_installed_tools_only() -> None:
    (repo,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repo["repo"] == "local"
    assert [hook["entry"].split()[0] for hook in repo["hooks"]] == ["ruff", "ruff", "mypy"]
    assert {hook["language"] for hook in repo["hooks"]} == {"system"}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_for_no_patient_text(path: Path) -> None:
    form = read(path)
    assert form["name"]
    assert form["description"]
    first, *fields = form["body"]
    assert "patient text" in first["attributes"]["value"]
    (option,) = fields[-1]["attributes"]["options"]
    assert "no patient text" in option["label"]
    assert option["required"] is True
    names = [field["id"] for field in fields]
    assert len(set(names)) == len(names)


def test_everything_runs_each_night_and_before_a_release() -> None:
    full = ROOT / ".github" / "workflows" / "full.yml"
    assert {"schedule", "workflow_call"} <= set(read(full)[True])  # YAML 1.1 reads the key `on` as true
    assert "bash .ci/full" in [step.get("run") for step in steps(full)]
    release = jobs(ROOT / ".github" / "workflows" / "release.yml")
    assert release["full"]["uses"] == "./.github/workflows/full.yml"
    assert {name: job.get("needs") for name, job in release.items()} == {
        "full": None, "build": "full", "attest": "build", "publish": "attest", "page": "publish",
    }  # fmt: skip


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit(path: Path) -> None:
    actions = [step["uses"] for step in steps(path) if "uses" in step]
    assert actions
    assert all(PINNED.fullmatch(action) for action in actions), actions
    lines = [line for line in path.read_text().splitlines() if " uses: " in line and " uses: ./" not in line]
    assert all(PINNED_LINE.fullmatch(line) for line in lines), "each pinned commit needs its version in a comment"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_have_no_secrets_and_keep_no_credentials(path: Path) -> None:
    assert "secrets." not in path.read_text()
    checkouts = [step for step in steps(path) if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_scripts_do_not_interpolate_untrusted_values(path: Path) -> None:
    assert not [step["run"] for step in steps(path) if "${{" in step.get("run", "")]


@pytest.mark.parametrize("name", ["ci", "full"])
def test_change_workflow_has_read_permissions_only(name: str) -> None:
    path = ROOT / ".github" / "workflows" / f"{name}.yml"
    assert read(path)["permissions"] == {"contents": "read"}
    assert not [name for name, job in jobs(path).items() if "permissions" in job]
    assert f"bash .ci/{'run' if name == 'ci' else 'full'}" in [step.get("run") for step in steps(path)]


def test_each_job_of_a_release_has_the_permissions_that_it_needs() -> None:
    path = ROOT / ".github" / "workflows" / "release.yml"
    assert read(path)["permissions"] == {}
    assert {name: job["permissions"] for name, job in jobs(path).items()} == {
        "full": {"contents": "read"},
        "build": {"contents": "read"},
        "attest": {"id-token": "write", "attestations": "write"},
        "publish": {"id-token": "write"},
        "page": {"contents": "write"},
    }
    assert jobs(path)["publish"]["environment"] == "pypi"


def test_releases_run_only_for_tags() -> None:
    workflow = read(ROOT / ".github" / "workflows" / "release.yml")
    assert workflow[True] == {"push": {"tags": ["v*"]}}


def test_source_distribution_contains_the_test_data() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {"CITATION.cff", ".pre-commit-config.yaml", ".github", ".ci", "conftest.py", "results/e2e/rows.json"} <= set(
        included
    )


def test_the_source_distribution_has_no_predictions() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert [each for each in included if each.startswith("results")] == ["results/tables.md", "results/e2e/rows.json"]
