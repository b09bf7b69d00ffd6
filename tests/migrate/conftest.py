"""Two releases: an id that moves, one with several successors, one that is retired, and one that is current."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.kb.replacements import Replacements
from onym.migrate.links import LinkMigrator

OLD = """id\tname
mesh:D000001\tFever
mesh:D000002\tHigh temperature
mesh:D000003\tTwo things
mesh:D000004\tVapours
"""
NEW = """id\tname\tkind\treplaced_by
mesh:D000001\tFever\tpreferred\t
mesh:D000002\tHigh temperature\tretired\tmesh:D000009
mesh:D000009\tPyrexia\tpreferred\t
mesh:D000003\tTwo things\tretired\tmesh:D000005
mesh:D000003\tTwo things\tretired\tmesh:D000006
mesh:D000005\tFirst thing\tpreferred\t
mesh:D000006\tSecond thing\tpreferred\t
mesh:D000004\tVapours\tretired\t
"""


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> tuple[KnowledgeBase, KnowledgeBase]:
    folder = tmp_path_factory.mktemp("releases")
    kbs = []
    for name, text in (("old", OLD), ("new", NEW)):
        (folder / f"{name}.tsv").write_text(text)
        build_kb(Recipe.of({"sources": [{"path": f"{name}.tsv"}]}), folder / name, root=folder)
        kbs.append(KnowledgeBase.open(folder / name))
    return kbs[0], kbs[1]


@pytest.fixture
def migrator(releases: tuple[KnowledgeBase, KnowledgeBase]) -> LinkMigrator:
    return LinkMigrator(Replacements(*releases))


Releases = tuple[KnowledgeBase, KnowledgeBase]


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of an audit table."""
    head, *lines = path.read_text().splitlines()
    return [dict(zip(head.split("\t"), line.split("\t"), strict=True)) for line in lines]
