"""Tests that the house benchmark finds denied words, wrong imports and repeated work, and reports why a probe failed."""

from __future__ import annotations

import ast
import gzip
import hashlib
import json
from pathlib import Path

import pytest
from benchmarks.commands.house import UPPER_BOUNDS, find_missed_targets, read_ci
from benchmarks.house.work import count_digests, count_opens

from onym.kb import KnowledgeBase
from tests.architecture.imports import Source
from tests.architecture.probes import Edit, Probe, ProbeError
from tests.architecture.source import count_help_lines, find_documented, find_untyped_public, size_figures
from tests.architecture.words import find_denied, find_denied_phrases, find_denied_words, iter_names


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("place", ["place"]),
        ("_placesOf", ["places"]),
        ("--as-written", ["as_written"]),
        ("is_written_out", ["written_out"]),
        ("MOST_NODES", ["most"]),
        ("replace_placeholder", []),
        ("settings", []),
        ("written_words_out", []),
        ("benchmark", []),
    ],
)
def test_finds_denied_words_in_names(name: str, words: list[str]) -> None:
    assert list(find_denied_words(name)) == words


def test_denies_benchmark_for_a_dataset_in_src() -> None:
    assert list(find_denied_words("benchmark_name", dataset_words=True)) == ["benchmark"]


@pytest.mark.parametrize("text", ["by equal\n   names", "a run that was stopped goes on", "A model as it comes.", "if sure"])
def test_finds_coined_phrases(text: str) -> None:
    assert list(find_denied_phrases(text))


@pytest.mark.parametrize("text", ["make sure", "the error goes on", "a written outline", "unlikeness", "in each other's place"])
def test_accepts_plain_english(text: str) -> None:
    assert not list(find_denied_phrases(text))


def test_checks_only_bound_names() -> None:
    source = """
import numpy as held
from hypothesis import given

def told(asked, *, most=1, **given):
    self.beside = np.clip(values, clip=1)
    for place in every:
        row = {"likeness": 1, "fine": other["wide"]}
    row["rivals"] = [chosen for chosen in call(sights=1)]
    match row:
        case {"x": opened, **trust}:
            pass
    option = "--longest/--short"
"""
    found = {word for _, name in iter_names(ast.parse(source)) for word in find_denied_words(name)}
    bound = {"held", "told", "asked", "most", "given", "beside", "place", "likeness", "rivals", "chosen", "opened", "trust"}
    assert found == bound | {"longest"}


def test_searches_the_whole_tree(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "README.md": "Linked by likeness, see `kb.claims`.\n\n```python\n>>> told = 1\n1\n```\n",
            "src/onym/a.py": '"""Fine."""\n\nbenchmark = 1\nSpan = tuple\n# a run that was\n# stopped goes on\n',
            "src/onym/b.py": "class Span: ...\n",
            "src/onym/told.py": "",
            "benchmarks/b.py": "benchmark = 1\n",
            "benchmarks/x.toml": "[optim]\nclip = 1\n",
            "results/rows.json": '[{"figures": {"sure": 1}}]',
        },
    )
    (root / "results" / "a.jsonl.gz").write_bytes(gzip.compress(b'{"asked": 1}\n{"given": 1}\n'))
    found = {(finding.file, finding.kind, finding.word) for finding in find_denied(root)}
    assert found == {
        ("README.md", "phrase", "likeness"),
        ("README.md", "code", "claims"),
        ("README.md", "code", "told"),
        ("src/onym/a.py", "name", "benchmark"),
        ("src/onym/a.py", "phrase", "stopped goes on"),
        ("src/onym/b.py", "definition", "Span again"),
        ("src/onym/told.py", "file", "told"),
        ("benchmarks/x.toml", "key", "clip"),
        ("results/rows.json", "key", "sure"),
        ("results/a.jsonl.gz", "key", "asked"),
    }


ROOT = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from onym.pipeline import load\n"


def test_finds_upward_imports_anywhere_in_a_file(tmp_path: Path) -> None:
    files = {
        "__init__.py": ROOT,
        "pipeline/__init__.py": "def load(): ...\n",
        "kb/__init__.py": "",
        "kb/good.py": "import onym.store.limits\nfrom onym.kb import other\n",
        "kb/attribute.py": "import onym\n\ndef f():\n    return onym.load\n",
        "store/limits.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from onym import load\n",
        "store/inside.py": "def f():\n    from onym.kb import good\n",
    }
    assert Source(write(tmp_path, files)).upward() == [
        "kb/attribute.py:4: kb imports pipeline",
        "store/inside.py:2: store imports kb",
        "store/limits.py:3: store imports pipeline",
    ]


def test_finds_cycles_anywhere_in_a_file(tmp_path: Path) -> None:
    guarded = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from onym.a import f\n"
    files = {
        "__init__.py": "",
        "a.py": "from onym import b\n",
        "b.py": "import onym.c\n",
        "c.py": guarded,
        "d.py": "def f():\n    from onym.e import g\n",
        "e.py": "from onym.d import f\n",
        "package/__init__.py": "from onym.package.inner import X\n",
        "package/inner.py": "from onym.package import other\n",
        "package/other.py": "",
    }
    assert Source(write(tmp_path, files)).cycles() == [["onym.a", "onym.b", "onym.c"], ["onym.d", "onym.e"]]


def test_finds_private_imports_from_other_folders(tmp_path: Path) -> None:
    files = {
        "_version.py": "",
        "kb/_rows.py": "import onym._version\n",
        "kb/build.py": "from onym.kb._rows import add\n\ndef _name(): ...\n",
        "kb/readers/obo.py": "from onym.kb import _rows\nfrom onym.kb.build import _name\n",
        "linkers/exact.py": "from onym.kb._rows import add, drop\nfrom onym.kb.build import _name\n",
    }
    assert Source(write(tmp_path, files)).private() == [
        "linkers/exact.py:1: _rows of onym.kb",
        "linkers/exact.py:2: _name of onym.kb",
    ]


def test_modules_with_one_importer(tmp_path: Path) -> None:
    files = {
        "registry.py": 'LINKERS = Registry("linker", "onym.linkers", "onym.linkers")\n',
        "kb/__init__.py": "from onym.kb.shared import X\nfrom onym.kb.alone import Y\n",
        "kb/shared.py": "from onym.kb.alone import Y\nimport onym.linkers.exact\n",
        "kb/alone.py": "",
        "linkers/exact.py": "from onym.kb import X\n",
        "linkers/tfidf.py": "from onym.kb import X\n",
    }
    assert Source(write(tmp_path, files)).one_importer() == (["onym.kb.alone"], 3)


def test_size_and_annotations(tmp_path: Path) -> None:
    source = 'import a\n\ndef f(x: int) -> int:\n    """Doc."""\n    return x\n\nclass C:\n    def g(self, y): ...\n'
    found = Source(write(tmp_path, {"__init__.py": "", "a.py": source}))
    assert size_figures(found) == {
        "files": 2, "lines": 8, "under_60_lines_pct": 100.0, "import_lines_pct": 12.5, "function_p90": 2,
    }  # fmt: skip
    assert find_untyped_public(found) == ["a.py:8: g"]


def test_edits_of_probes(tmp_path: Path) -> None:
    write(tmp_path, {"kb/a.py": "one\ntwo\n"})
    edits = Edit("kb/a.py", "between\n", after="one\n"), Edit("kb/b.py", "new\n"), Edit("kb/a.py", "end\n", after="two\n")
    for edit in edits:
        edit.apply(tmp_path)
    assert (tmp_path / "kb/a.py").read_text() == "one\nbetween\ntwo\nend\n"
    assert (Probe(edits, ()).count, Probe(edits, (), count_edits=True).count) == (2, 3)


@pytest.mark.parametrize("edit", [Edit("no/a.py", ""), Edit("a.py", "", after="x"), Edit("kb.py", "", after="x")])
def test_rejects_an_edit_that_does_not_apply(tmp_path: Path, edit: Edit) -> None:
    write(tmp_path, {"kb.py": "one\n"})
    with pytest.raises(ProbeError):
        edit.apply(tmp_path)


def test_missed_targets() -> None:
    missed = find_missed_targets({"files": 341, "lines": 1, "import_cycles": None})
    assert missed[:2] == ["missed: files is 341, target 340", "missed: import_cycles is null, target 0"]


def test_reads_names_of_the_reference_page(tmp_path: Path) -> None:
    page = tmp_path / "python.md"
    page.write_text("## Document, Link\n\n| name | gives |\n|---|---|\n| `onym.load` | a Pipeline |\n")
    assert find_documented(page, ["Document", "Link", "Linker", "Pipeline", "load"]) == ["Document", "Link", "load"]


def test_help_is_counted_at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert 20 < count_help_lines("link") <= UPPER_BOUNDS["help_lines_link"]


def test_counts_opens_and_hashes(tiny_kb: Path) -> None:
    with count_opens() as opens, count_digests() as digests:
        KnowledgeBase.open(tiny_kb)
        KnowledgeBase.open(tiny_kb)
        assert hashlib.sha256(b"a").hexdigest() == hashlib.sha256(b"a").digest().hex()
    assert opens == {tiny_kb.resolve(): 2}
    assert digests[hashlib.sha256(b"a").hexdigest()] == 2


def test_reads_durations_of_the_last_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONYM_CI_FILE", str(tmp_path / "ci.json"))
    assert set(read_ci().values()) == {None}
    (tmp_path / "ci.json").write_text(json.dumps({"last_reused_seconds": 812, "full_seconds": 4000}))
    assert read_ci() == {"ci_seconds": 812, "ci_seconds_cold": None, "fast_tests_seconds": None, "full_seconds": 4000}
