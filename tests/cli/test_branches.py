"""`--under`, `--not-under` and `--mapped` in all commands that select concepts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onym.serve.settings import ServeSettings
from tests.cli.command import onym

TEXT = "Fever, headache, breast cancer, brain cancer and made sarcoma."
BREAST, BRAIN, HEADACHE, FEVER, SARCOMA = (f"MESH:{local}" for local in ("D001943", "D009423", "D006261", "D005334", "C000001"))
FILTERS = [
    (("--under", "D009369"), [BREAST, BRAIN]),
    (("--under", "D001943", "--under", "mesh:D006261,D005334"), [FEVER, HEADACHE, BREAST]),
    (("--under", "D009369", "--not-under", "D009422"), [BREAST]),
    (("--under", "D009369", "--mapped"), [BREAST, BRAIN, SARCOMA]),
    (("--not-under", "D009369"), [FEVER, HEADACHE, SARCOMA]),
    (("--under", "D009422", "--types", "C04"), [BRAIN]),
]


@pytest.fixture
def folder(tmp_path: Path, branch_kb: Path) -> Path:
    (tmp_path / "kb").symlink_to(branch_kb)
    (tmp_path / "note.txt").write_text(TEXT)
    onym("pipeline", "build", "--kb", "kb", "-o", "p", cwd=tmp_path)
    return tmp_path


def linked(stdout: str) -> list[str]:
    links = [link for line in stdout.splitlines() for link in json.loads(line)["links"]]
    assert len(links) == 5
    return [link["concept_id"] for link in links if link["concept_id"]]


@pytest.mark.parametrize(("words", "found"), FILTERS)
def test_link_with_a_filter_or_a_filtered_pipeline(folder: Path, words: tuple[str, ...], found: list[str]) -> None:
    assert linked(onym("link", TEXT, "--pipeline", "p", *words, "--json", cwd=folder).stdout) == found
    onym("pipeline", "build", "--kb", "kb", *(word for word in words if word not in ("--types", "C04")), "-o", "q", cwd=folder)
    types = ("--types", "C04") if "--types" in words else ()
    assert linked(onym("link", TEXT, "--pipeline", "q", *types, "--json", cwd=folder).stdout) == found


def test_link_with_a_kb(folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"id":"1","text":"brain fever","mentions":[{"start":0,"end":11}]}\n')
    for words, count in (((), 0), (("--restrict",), 1)):
        filters = ("--linker", "tfidf", "--under", "D009369", *words)
        done = onym("link", "a.jsonl", "--kb", "kb", *filters, "-o", "out.jsonl", "--force", "--json", cwd=folder)
        assert json.loads(done.stdout)["linked"] == count
    header = json.loads((folder / "out.jsonl").read_text().splitlines()[0])
    assert (header["source"]["concepts_allowed"], header["source"]["others_compete"]) == (3, False)


@pytest.mark.parametrize("where", [("--kb", "kb"), ("--pipeline", "q")])
def test_map_ignores_concepts_outside_the_branch(folder: Path, where: tuple[str, ...]) -> None:
    onym("pipeline", "build", "--kb", "kb", "--linker", "tfidf", "-o", "q", cwd=folder)
    (folder / "terms.csv").write_text("term\nbrain fever\nFever\n")
    done = onym("map", "terms.csv", "--column", "term", *where, "--under", "D009422", "--json", cwd=folder)
    assert json.loads(done.stdout.splitlines()[0])["concept_id"] == BRAIN
    assert FEVER not in done.stdout


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (("--pipeline", "p", "--under", "D77"), 3, "concept-unknown"),
        (("--pipeline", "p", "--under", "D005334", "--types", "C04"), 2, "filter-empty"),
        (("--pipeline", "flat", "--not-under", "D009203"), 2, "hierarchy-missing"),
    ],
)
def test_errors_name_the_option_and_a_fix(folder: Path, tiny_kb: Path, words: tuple[str, ...], status: int, code: str) -> None:
    onym("pipeline", "build", "--kb", str(tiny_kb), "-o", "flat", cwd=folder)
    told = onym("link", "A fever", *words, "-o", "out.jsonl", cwd=folder, status=status).stderr
    assert f"[{code}]" in told
    assert code == "filter-empty" or words[2] in told


def test_batch_plans_with_a_branch(folder: Path) -> None:
    plan = ("batch", "plan", "note.txt", "--pipeline", "p", "-o", "run")
    onym(*plan, "--under", "D009369", "--not-under", "D009422", cwd=folder)
    settings = json.loads((folder / "run" / "plan.json").read_text())["settings"]
    assert settings["options"] == {"under": ["D009369"], "not_under": ["D009422"]}
    onym("batch", "run", "run", "--workers", "1", cwd=folder)
    onym("batch", "export", "run", "-o", "links.csv", cwd=folder)
    text = (folder / "links.csv").read_text()
    assert (BREAST in text, BRAIN in text) == (True, False)
    assert "batch-plan" in onym(*plan, "--under", "D009369", cwd=folder, status=2).stderr, "another plan"
    onym(*plan[:-1], "all", cwd=folder)
    assert "options" not in json.loads((folder / "all" / "plan.json").read_text())["settings"]


@pytest.mark.parametrize(("words", "found"), [((), 7), (("--under", "D009369", "--mapped"), 4), (("--types", "C23"), 1)])
def test_export_writes_the_selected_concepts(folder: Path, words: tuple[str, ...], found: int) -> None:
    onym("kb", "export", "kb", *words, "-o", "kb.jsonl", cwd=folder)
    ids = [json.loads(line)["concept_id"] for line in (folder / "kb.jsonl").read_text().splitlines()]
    assert len(ids) == found
    assert ("mesh:D005334" in ids) == ("--under" not in words)


def test_a_rejected_export_writes_nothing(folder: Path) -> None:
    assert "concept-unknown" in onym("kb", "export", "kb", "--under", "D77", "-o", "kb.jsonl", cwd=folder, status=3).stderr
    assert not (folder / "kb.jsonl").exists()


def test_serve_applies_the_branch_to_all_requests(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[ServeSettings] = []
    monkeypatch.setattr("onym.serve.server.run_service", seen.append)
    onym("serve", "--pipeline", "p", "--under", "D009369", "--mapped", "--quiet", cwd=folder)
    assert seen[0].options == {"under": ["D009369"], "mapped": True}
