"""Tests that docs/reference/vocabularies.md and other pages list the vocabularies that the source declares."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

from onym.vocabularies import downloads, vocabularies

DOCS = Path(__file__).parents[2] / "docs"


def _module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("vocabularies_page", DOCS / "vocabularies_page.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


maker = _module()


def test_tables_are_up_to_date() -> None:
    page = maker.PAGE.read_text("utf-8")
    assert page == maker.page_with_tables(page), "run `python docs/vocabularies_page.py`"
    assert set(re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)) == set(vocabularies())


def test_download_page_lists_each_name() -> None:
    page = (DOCS / "how-to" / "build-from-mesh.md").read_text("utf-8").split("\n## Downloads\n")[1]
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == list(downloads())


def test_pack_page_lists_vocabularies_with_known_terms() -> None:
    page = (DOCS / "how-to" / "package-a-pipeline.md").read_text("utf-8")
    section = page.split("\n## Which vocabularies are allowed\n")[1].split("\n## ", maxsplit=1)[0]
    assert [each.title for each in vocabularies().values() if each.redistribution and each.title not in section] == []
