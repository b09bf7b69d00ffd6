"""Tests that functions are named by verbs, and that no two classes have the same name."""

from __future__ import annotations

from pathlib import Path

from tests.architecture.names import find_duplicate_classes, find_participles

ROOT = Path(__file__).parents[2]


def test_participles_and_duplicate_classes_are_found(tmp_path: Path) -> None:
    for name, text in {
        "src/onym/a.py": "def located(): ...\nclass Span:\n    def kind_named(self): ...\n    def read_linked(self): ...\n",
        "src/onym/b.py": "class _Span: ...\ndef is_known(): ...\n",
        "tests/c.py": "class Span: ...\ndef test_it_failed():\n    async def ready(): ...\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert find_participles(tmp_path) == ["src/onym/a.py:1: located", "src/onym/a.py:3: kind_named", "tests/c.py:3: ready"]
    assert find_duplicate_classes(tmp_path) == ["src/onym/b.py:1: _Span"]


def test_functions_are_verbs() -> None:
    found = find_participles(ROOT)
    assert len(found) <= 40, "\n".join(found)


def test_a_class_name_means_one_class() -> None:
    assert find_duplicate_classes(ROOT) == []
