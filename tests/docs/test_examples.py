"""Every example in README.md and docs/ runs, in order, and prints the output that the page shows.

`python` blocks of one page share a namespace; if they have prompts (`>>>`), the output is compared. In `console` blocks, lines
that begin with `$ ` are bash commands, and the other lines are their output: columns may be of any width, `...` matches any
text, and a line of only `...` matches any lines. Blocks of other languages are not run.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import onym.integrations.spacy  # noqa: F401 - as spaCy does by the entry point of the installed package
from tests.cli.command import run_here

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUN = {"python", "console"}
SHOWN = {"text", "bash", "toml", "json", "yaml", "sql"}
# Pages with `bash` blocks, which are not run: they need the package index, licensed releases or downloads.
WITH_BASH = {
    "docs/how-to/link-a-large-corpus.md",  # also shows job files for a cluster
    "README.md", "docs/index.md", "docs/tutorial/first-knowledge-base.md", "docs/how-to/build-from-umls.md",
    "docs/how-to/build-from-mesh.md", "docs/how-to/build-from-snomed.md", "docs/how-to/build-from-ncbi.md",
    "docs/how-to/link-with-a-model.md", "docs/how-to/link-raw-text.md",
    "docs/how-to/train-a-linker.md", "docs/how-to/get-a-pipeline.md", "docs/how-to/link-six-types.md",
}  # fmt: skip
FENCE = re.compile(r"^( *)(`{3,})([^`]*)$")
SHELL = re.compile(r"[|<>;&$`*?~]|\n(?<!\\\n)")
"""Characters that only a shell interprets."""
HEREDOC = re.compile(r"<<\s*['\"]?(\w+)['\"]?")


@dataclass(frozen=True)
class Block:
    """A fenced code block: its first line (counted from 1), its language, and its text."""

    line: int
    language: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command of a console block, and the output that the page shows for it."""

    text: str
    shown: tuple[str, ...]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page, including indented ones."""
    lines = enumerate(text.splitlines(), 1)
    for number, line in lines:
        if page_globals := FENCE.match(line):
            indent, fence, info = page_globals.groups()
            body = []
            for _, inner in lines:
                if inner.strip() == fence:
                    break
                body.append(inner.removeprefix(indent))
            else:
                pytest.fail(f"the block that begins at line {number} is not closed")
            yield Block(number + 1, (info.split() or [""])[0], "\n".join(body) + "\n")


def commands(block: Block) -> list[Command]:
    """Split a console block into commands with their output; here-documents and continued lines belong to their command."""
    found: list[Command] = []
    lines = iter(block.text.splitlines())
    shown: list[str] = []
    for line in lines:
        if not line.startswith("$ "):
            assert found, f"line {block.line} shows an output without a command"
            shown.append(line)
            continue
        if found:
            found[-1] = Command(found[-1].text, tuple(shown))
        found.append(Command(_whole(line.removeprefix("$ "), lines), ()))
        shown = []
    if found:
        found[-1] = Command(found[-1].text, tuple(shown))
    return found


def _whole(command: str, lines: Iterator[str]) -> str:
    while command.endswith("\\"):
        command += "\n" + next(lines)
    if here := HEREDOC.search(command):
        for line in lines:
            command += "\n" + line
            if line == here[1]:
                break
    return command


def agrees(output: str, shown: tuple[str, ...]) -> bool:
    """Return whether an output matches what the page shows; if the page shows no output, any output matches."""
    if not shown:
        return True
    parts = [r"(?:[^\n]*\n)*?" if line.strip() == "..." else _pattern(line) + r"\n" for line in shown]
    lines = "".join(_even(line) + "\n" for line in output.splitlines())
    return re.fullmatch("".join(parts), lines) is not None


def _pattern(line: str) -> str:
    return "[^\\n]*".join(re.escape(part) for part in _even(line).split("..."))


def _even(line: str) -> str:
    return " ".join(line.split())


def run_console(block: Block, folder: Path) -> None:
    found = commands(block)
    assert found, f"line {block.line}: a console block without a command"
    for command in found:
        status, output = run_command(command.text, folder)
        assert status == 0, f"line {block.line}: {command.text}\n{output}"
        assert agrees(output, command.shown), f"line {block.line}: {command.text}\nprinted\n{output}"


def run_command(text: str, folder: Path) -> tuple[int, str]:
    """Run a command with bash; a plain `onym` command runs in this process instead, which saves seconds of imports."""
    environment = {"COLUMNS": "120", "TERM": "dumb", "NO_COLOR": "1"}
    if text.startswith("onym ") and not SHELL.search(text):
        output = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        words = tuple(shlex.split(text.replace("\\\n", " "))[1:])
        status = run_here(words, folder, environment, output, output)
        output.seek(0)
        return status, output.read()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", text], cwd=folder, env={**os.environ, "PATH": path, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout


def run_python(block: Block, namespace: dict[str, Any], page: str) -> None:
    if ">>> " not in block.text:
        exec(compile("\n" * (block.line - 1) + block.text, page, "exec"), namespace)
        return
    example = doctest.DocTestParser().get_doctest(block.text, namespace, page, page, block.line - 1)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
    result = runner.run(example, out=said.append, clear_globs=False)
    assert result.attempted, f"{page}:{block.line}: nothing was run"
    assert not result.failed, "".join(said)
    namespace.update(example.globs)


def run_page(text: str, page: str, folder: Path) -> int:
    """Run all blocks of a page in an empty folder, and return how many were run."""
    namespace: dict[str, Any] = {"__name__": "page"}
    ran = 0
    for block in blocks(text):
        if block.language == "python":
            run_python(block, namespace, page)
        elif block.language == "console":
            run_console(block, folder)
        ran += block.language in RUN
    return ran


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_each_block_of_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text("utf-8")
    page_globals = [line.lower() for line in text.splitlines() if re.match(r"^[\s>]*(?:`{3,}|~{3,})\s*\S", line)]
    expected = sum("py" in line or "console" in line or "shell" in line for line in page_globals)
    monkeypatch.chdir(tmp_path)
    assert run_page(text, name_of(page), tmp_path) == expected


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_have_known_languages(page: Path) -> None:
    languages = {block.language for block in blocks(page.read_text("utf-8"))}
    assert languages <= RUN | SHOWN
    assert "bash" not in languages or name_of(page) in WITH_BASH


def test_job_files_can_be_read() -> None:
    found = list(blocks((ROOT / "docs" / "how-to" / "link-a-large-corpus.md").read_text("utf-8")))
    jobs = [yaml.safe_load(block.text) for block in found if block.language == "yaml"]
    assert [job["kind"] for job in jobs] == ["Job", "RayJob"]
    scripts = [block.text for block in found if block.language == "bash"]
    assert scripts
    for script in scripts:
        assert subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False).stderr == ""


def test_all_pages_are_found() -> None:
    assert len(PAGES) > 20
    assert {page.parent.name for page in PAGES} >= {"docs", "tutorial", "how-to", "reference", "explanation"}


def test_readme_shows_a_result_within_25_lines() -> None:
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    first, shown = list(blocks("\n".join(lines)))[:2]
    assert [command.text.split()[:2] for command in commands(first)] == [["pip", "install"], ["onym", "link"]]
    assert (shown.language, shown.text.split()[0]) == ("text", "text")  # the table on a terminal
    assert shown.line + shown.text.count("\n") <= 25


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("```python\nraise ValueError\n```\n", "a plain block that fails"),
        ("```python\n>>> 1 + 1\n3\n```\n", "a wrong answer"),
        ("```console\n$ false\n```\n", "a command that fails"),
        ("```console\n$ echo one\ntwo\n```\n", "a wrong output"),
        ("```console\n$ printf 'one\\ntwo\\n'\none\n```\n", "half an output"),
        ("```console\necho one\n```\n", "no command"),
        ("  ```python\n  raise ValueError\n  ```\n", "an indented block"),
        ("```python\nx = 1\n", "no end"),
    ],
)
def test_detects_wrong_page(page: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, ValueError, pytest.fail.Exception)):
        run_page(page, reason, tmp_path)


def test_runs_blocks_in_order(tmp_path: Path) -> None:
    page = (
        "```console\n$ cat > a.txt <<'EOF'\none\n$ two\nEOF\n$ wc \\\n  -l a.txt\n2    a.txt\n$ seq 9\n1\n...\n9\n```\n"
        "```python\nx = 1\n```\n"
        "```python\n>>> y = x + 1\n>>> y\n2\n```\n"
        "```python\nassert y == 2\n```\n"
    )
    assert run_page(page, "page", tmp_path) == 4
    assert (tmp_path / "a.txt").read_text() == "one\n$ two\n"
