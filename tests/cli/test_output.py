"""Tests that every command rejects an unwritable output before it reads anything; so the inputs here need not exist."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from typer.main import get_command

from onym.cli.app import app
from onym.train.configs import CONFIGS as RECIPES
from tests.cli.command import onym, onym_bytes

NAMES = {"output", "report", "save"}
WORDS = {
    "link": "link no.txt --kb no -o",
    "link folder": "link no.txt --kb no --format brat -o",
    "link corpus": "link no.txt --pipeline no --format jsonl -o",
    "link fhir": "link no.txt --kb no --format fhir -o",
    "link omop": "link no.txt --kb no --format omop --nlp-date 2026-01-31 -o",
    "map": "map no.csv --column a --kb no -o",
    "map fhir": "map no.csv --column a --kb no -o",
    "show": "show no.jsonl -o",
    "explain": "explain no.txt -o",
    "evaluate report": "evaluate no.jsonl --dataset no --report",
    "evaluate save": "evaluate --linker exact --dataset no --save",
    "compare": "compare no.jsonl no.jsonl --dataset no --report",
    "batch plan": "batch plan no.txt --pipeline no -o",
    "batch export": "batch export no -o",
    "batch compact": "batch compact no -o",
    "kb build": "kb build no.obo -o",
    "kb export": "kb export no -o",
    "kb download": "kb download hpo -o",
    "kb diff": "kb diff no no -o",
    "kb replacements": "kb replacements no no -o",
    "migrate": "migrate no.txt --from no --to no -o",
    "review create": "review create no.jsonl --documents no --kb no -o",
    "review export": "review export no.sqlite -o",
    "review merge": "review merge no.sqlite -o",
    "audit plan": "audit plan no.jsonl --documents no --kb no -o",
    "audit report": "audit report no.sqlite -o",
    "corpus convert": "corpus convert no.txt --to jsonl",
    "corpus convert folder": "corpus convert no.txt --to brat",
    "dataset prepare": "dataset prepare s800 --data no -o",
    "trie build": "trie build no --tokenizer no -o",
    "index build": "index build no --model no -o",
    "model convert": "model convert no -o",
    "pipeline build": "pipeline build --kb no -o",
    "pack build": "pack build no -o",
    "pack wheel": "pack wheel no -o",
    "pack hub": "pack hub no -o",
    "plot names": "plot names --kb no --model no -o",
    "train finetune": "train finetune --preset cpu-small --set start.model=no --set data.kb=no -o",
    "train pipeline": "train pipeline --dataset no --kb no -o",
}
FOLDERS = {
    *("link folder", "batch plan", "corpus convert folder", "kb build", "dataset prepare"),
    *("trie build", "index build", "model convert", "train finetune", "train pipeline", "pack hub"),
}
MAKES_FILES_IN = {"kb download", "pipeline build", "pack wheel"}
FORCED = (
    "batch export",
    "batch compact",
    "link",
    "map",
    "show",
    "explain",
    "evaluate",
    "compare",
    "kb export",
    "corpus",
    "dataset",
    "model",
    "pack",
    "pipeline",
    "plot",
)


ENDS = {
    "map": ".tsv", "map fhir": ".fhir.json", "pack build": ".onymp", "plot names": ".png", "batch export": ".tsv",
    "kb diff": ".json", "kb replacements": ".tsv", "audit plan": ".sqlite", "audit report": ".html",
    "review create": ".sqlite", "review export": ".onymc", "review merge": ".sqlite",
}  # fmt: skip
ALONE = ("migrate", "link", "map", "show", "explain", "evaluate", "compare")
"""Commands that are no group of others."""


def outputs(path: str = "", command: object = None) -> list[str]:
    command = command or get_command(app)
    inner = getattr(command, "commands", {})
    if not inner:
        params = command.params  # type: ignore[attr-defined]
        return [path for param in params if param.name in NAMES or "--output" in param.opts]
    return [found for name, each in inner.items() for found in outputs(f"{path} {name}".strip(), each)]


def test_all_writing_commands_are_covered() -> None:
    known = {" ".join(words.split()[: 1 if words.startswith(ALONE) else 2]) for words in WORDS.values()}
    assert known | {f"train {stage}" for stage in RECIPES} == set(outputs())


def refusals(words: str, cwd: Path, *paths: str) -> set[str]:
    forced = ["--force"] if words.startswith(FORCED) else []
    done = [onym(*words.split(), path, *forced, cwd=cwd, status=2) for path in paths]
    return {each.stderr.partition("]")[0].lstrip("[") for each in done}


@pytest.mark.parametrize("command", WORDS)
def test_rejects_unwritable_output_before_reading(tmp_path: Path, command: str) -> None:
    end = ENDS.get(command, "")
    os.mkfifo(tmp_path / f"pipe{end}")
    (tmp_path / "file").touch()
    found = refusals(WORDS[command], tmp_path, f"pipe{end}", f"file/new/out{end}")
    assert found == {"output-failed"} if command in MAKES_FILES_IN else {"output-kind", "output-failed"}
    assert stat.S_ISFIFO((tmp_path / f"pipe{end}").lstat().st_mode)


@pytest.mark.parametrize("command", [name for name in WORDS if name not in FOLDERS | MAKES_FILES_IN])
def test_rejects_existing_folder_before_reading(tmp_path: Path, command: str) -> None:
    end = ENDS.get(command, "")
    (tmp_path / f"out{end}").mkdir()
    assert refusals(WORDS[command], tmp_path, f"out{end}") == {"output-exists"}


@pytest.mark.parametrize("command", [*sorted(FOLDERS), "evaluate report", "evaluate save", "compare"])
def test_rejects_stdout_for_folders_and_reports(tmp_path: Path, command: str) -> None:
    assert refusals(WORDS[command], tmp_path, "-") == {"output-stdout"}


def test_problems_of_a_run_that_prints_go_to_stderr(tmp_path: Path, tiny_kb: Path) -> None:
    (tmp_path / "a.pubtator").write_bytes(b"1|t|High fever\n1|a|\n\n2|t|Cough \xff\n2|a|\n\n")
    words = ("link", "a.pubtator", "--kb", str(tiny_kb))
    onym_bytes(*words, "-o", "-", cwd=tmp_path, status=5)
    assert "problem: [input-encoding] not valid UTF-8, a.pubtator:4" in onym(*words, "--json", cwd=tmp_path, status=5).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.pubtator"]


def test_too_many_problems_leave_no_output(tmp_path: Path, tiny_kb: Path) -> None:
    (tmp_path / "a.pubtator").write_bytes(b"1|t|High fever\n1|a|\n\n2|t|Cough \xff\n2|a|\n\n")
    words = ("link", "a.pubtator", "--kb", str(tiny_kb), "-o", "out.jsonl", "--max-problems", "0")
    assert "problems" in onym(*words, cwd=tmp_path, status=3).stderr
    assert not (tmp_path / "out.jsonl").exists()
    onym(*words[:-2], cwd=tmp_path, status=5)  # the problem file that the failed run left does not block the next run
    assert len((tmp_path / "out.jsonl.problems.jsonl").read_text().splitlines()) == 1


def test_rejected_export_leaves_no_files(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "ward7.txt").write_text("Type 2 diabetes.")
    (tmp_path / "notes" / "scan.bin").write_bytes(b"\xff\xfe")
    words = ("link", "notes", "-o", "note_nlp.csv", "--nlp-date", "2026-01-31")
    assert "omop-note-id" in onym(*words, cwd=tmp_path, status=3).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]
    onym(*words, "--note-keys", "keys.csv", cwd=tmp_path, status=5)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "keys.csv", "note_nlp.csv", "note_nlp.csv.problems.jsonl", "notes",
    ]  # fmt: skip


def test_stdout_contains_only_the_complete_output(tmp_path: Path, tiny_kb: Path) -> None:
    (tmp_path / "a.pubtator").write_text("1|t|High fever\n1|a|\n1\t5\t10\tfever\tDisease\tD005334\n")
    (tmp_path / "a.csv").write_text("term\nfever\n")
    for words, end in (
        (f"link a.pubtator --kb {tiny_kb}", ".tsv"),
        (f"link a.pubtator --kb {tiny_kb} --format jsonl", ".jsonl"),
        (f"map a.csv --column term --linker exact --kb {tiny_kb}", ".tsv"),
        (f"kb export {tiny_kb}", ".jsonl"),
    ):
        onym(*words.split(), "-o", f"out{end}", "--force", cwd=tmp_path)
        streamed = onym_bytes(*words.split(), "-o", "-", cwd=tmp_path)
        assert streamed == (tmp_path / f"out{end}").read_bytes()
    onym("corpus", "convert", "a.pubtator", "a.jsonl", "--to", "jsonl", cwd=tmp_path)
    streamed = onym_bytes("corpus", "convert", "a.pubtator", "-", "--to", "jsonl", cwd=tmp_path)
    assert streamed == (tmp_path / "a.jsonl").read_bytes()
    assert not (tmp_path / "-").exists()
