"""From table to table."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.linkers.exact import ExactLinker
from onym.pipeline.mapping import map_table


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    path = tmp_path / "terms.tsv"
    path.write_text('term\nfever\nMI\n""\nxyz\n')
    return path


def test_the_name_of_the_output_tells_its_format(terms: Path, tiny_kb: Path, tmp_path: Path) -> None:
    linker, ticks = ExactLinker(KnowledgeBase.open(tiny_kb)), list[int]()
    counts = map_table(terms, "term", linker, tmp_path / "a.tsv", tick=ticks.append)
    assert counts == {"rows": 4, "empty": 1, "mapped": 2, "tied": 1, "unmapped": 1}
    assert ticks == [1, 2, 3, 4]
    assert (tmp_path / "a.tsv").read_text().splitlines()[1].startswith("fever\tmesh:D005334\tFever\t1.000\tno")
    map_table(terms, "term", linker, tmp_path / "a.sssom.tsv")
    assert (tmp_path / "a.sssom.tsv").read_text().startswith("#mapping_set_id")


def test_another_name_is_refused_before_anything_is_read(tiny_kb: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="format-unknown"):
        map_table(tmp_path / "none.tsv", "term", ExactLinker(KnowledgeBase.open(tiny_kb)), tmp_path / "a.xlsx")
