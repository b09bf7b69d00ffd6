"""docs/reference/vocabularies.md has what the table of vocabularies says, and other pages name what it names."""

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


def test_the_tables_are_made_from_the_vocabularies() -> None:
    page = maker.PAGE.read_text("utf-8")
    assert page == maker.page_with_tables(page), "run `python docs/vocabularies_page.py`"
    assert set(re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)) == set(vocabularies())


def test_the_page_of_downloads_has_each_name() -> None:
    page = (DOCS / "how-to" / "download.md").read_text("utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == list(downloads())


def test_the_page_of_packs_names_each_vocabulary_whose_terms_are_known() -> None:
    page = (DOCS / "how-to" / "package-a-pipeline.md").read_text("utf-8")
    section = page.split("\n## Which vocabularies are allowed\n")[1].split("\n## ", maxsplit=1)[0]
    assert [each.title for each in vocabularies().values() if each.redistribution and each.title not in section] == []
