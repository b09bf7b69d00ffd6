"""The house benchmark: words, imports and work that is done twice are found where they are planted."""

from __future__ import annotations

import ast
import gzip
import hashlib
import json
from pathlib import Path

import pytest
from benchmarks.house import ci
from benchmarks.house.cycles import import_cycles
from benchmarks.house.denied import find_denied
from benchmarks.house.floors import upward_imports
from benchmarks.house.loading import counted_digests, counted_opens
from benchmarks.house.source_names import iter_names
from benchmarks.house.surface import documented
from benchmarks.house.words import denied_phrases, denied_words

from onym.kb import KnowledgeBase


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
def test_words_are_whole(name: str, words: list[str]) -> None:
    assert list(denied_words(name)) == words


def test_a_dataset_is_no_benchmark_in_the_product() -> None:
    assert list(denied_words("benchmark_name", dataset_words=True)) == ["benchmark"]


@pytest.mark.parametrize("text", ["by equal\n   names", "a run that was stopped goes on", "A model as it comes.", "if sure"])
def test_coinages_are_found(text: str) -> None:
    assert list(denied_phrases(text))


@pytest.mark.parametrize("text", ["make sure", "the error goes on", "a written outline", "unlikeness", "in each other's place"])
def test_innocent_english_is_not(text: str) -> None:
    assert not list(denied_phrases(text))


def test_only_what_is_bound_counts() -> None:
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
    found = {word for _, name in iter_names(ast.parse(source)) for word in denied_words(name)}
    bound = {"held", "told", "asked", "most", "given", "beside", "place", "likeness", "rivals", "chosen", "opened", "trust"}
    assert found == bound | {"longest"}


def test_the_tree_is_searched(tmp_path: Path) -> None:
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


def test_an_upward_import_is_found(tmp_path: Path) -> None:
    write(tmp_path, {"store/bad.py": "from onym.kb import KnowledgeBase\n", "kb/good.py": "from onym.store.limits import X\n"})
    assert upward_imports(tmp_path) == ["store/bad.py:1: store imports kb"]


def test_circles_are_found(tmp_path: Path) -> None:
    guarded = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from onym.a import f\n"
    files = {
        "__init__.py": "",
        "a.py": "from onym import b\n",
        "b.py": "import onym.c\n",
        "c.py": "if True:\n    from onym.a import f\n",
        "d.py": f"{guarded}def f():\n    from onym.e import g\n",
        "e.py": "from onym.d import f\n",
        "room/__init__.py": "from onym.room.inner import X\n",
        "room/inner.py": "from onym.room import other\n",
        "room/other.py": "",
    }
    assert import_cycles(write(tmp_path, files)) == [["onym.a", "onym.b", "onym.c"]]


def test_names_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "python.md"
    page.write_text("## Document, Link\n\n| name | gives |\n|---|---|\n| `onym.load` | a Pipeline |\n")
    assert documented(page, ["Document", "Link", "Linker", "Pipeline", "load"]) == ["Document", "Link", "load"]


def test_opening_and_hashing_are_counted(tiny_kb: Path) -> None:
    with counted_opens() as opens, counted_digests() as digests:
        KnowledgeBase.open(tiny_kb)
        KnowledgeBase.open(tiny_kb)
        assert hashlib.sha256(b"a").hexdigest() == hashlib.sha256(b"a").digest().hex()
    assert opens == {tiny_kb.resolve(): 2}
    assert digests[hashlib.sha256(b"a").hexdigest()] == 2


def test_the_seconds_of_the_last_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONYM_CI_FILE", str(tmp_path / "ci.json"))
    assert ci.ci_seconds() is None
    (tmp_path / "ci.json").write_text(json.dumps({"seconds": 812, "steps": {}}))
    assert ci.ci_seconds() == 812
