from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.train.samples.lookalikes import NONE, Lookalikes

ROWS = """id\tname\tsynonyms
mesh:D000001\tfever\tfevers|a fever|the fever|fever sign|feverish|fever state|fever rise
mesh:D000002\tyellow fever\tfever
mesh:D000003\tlassa fever\t
mesh:D000004\thay fever\thayfever
mesh:D000005\tq fever\t
mesh:D000006\tdengue fever\t
mesh:D000007\trheumatic fever\t
mesh:D000008\theart attack\t
"""
FEVER, YELLOW = 0, 1


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder: Path = tmp_path_factory.mktemp("fevers")
    (folder / "fevers.tsv").write_text(ROWS)
    build_kb(Recipe.of({"sources": [{"path": "fevers.tsv"}]}), folder / "kb", root=folder)
    return KnowledgeBase.open(folder / "kb")


@pytest.fixture(scope="module")
def lookalikes(kb: KnowledgeBase) -> Lookalikes:
    return Lookalikes(kb, count=3, seed=4)


def best_wrong(kb: KnowledgeBase, surface: str, gold: set[int], count: int) -> set[str]:
    """Return the most similar wrong names, by looking at every name."""
    from onym.text.similarity import NameSimilarity

    rows, _ = NameSimilarity.of(kb.names).top([surface], len(kb.names))[0]
    wrong = [int(row) for row in rows if gold.isdisjoint(kb.name_concepts[int(row)].tolist())]
    return {kb.names[row] for row in wrong[:count]}


@pytest.mark.parametrize("gold", [{FEVER}, {FEVER, YELLOW}, {YELLOW}, set(range(6)), set()])
@pytest.mark.parametrize("count", [1, 3, 5])
def test_the_closest_wrong_names_and_no_others(kb: KnowledgeBase, gold: set[int], count: int) -> None:
    """Also where the right names fill all places that are looked at first."""
    found = Lookalikes(kb, count=count).names_for(["Fever!"] * 200, [gold] * 200, range(200))
    assert {kb.names[name] for name in found} == best_wrong(kb, "fever", gold, count)


def test_a_shared_name_is_right_for_both(kb: KnowledgeBase, lookalikes: Lookalikes) -> None:
    found = lookalikes.names_for(["fever"] * 100, [{YELLOW}] * 100, range(100))
    assert "fever" not in {kb.names[name] for name in found}


def test_the_position_decides(kb: KnowledgeBase, lookalikes: Lookalikes) -> None:
    surfaces, gold = ["fever", "hay fevers", "attack of the heart", "fever of lassa"] * 10, [{FEVER}, {3}, {7}, {2}] * 10
    found = lookalikes.names_for(surfaces, gold, range(40))
    assert found == Lookalikes(kb, count=3, seed=4).names_for(surfaces, gold, range(40))
    assert found != Lookalikes(kb, count=3, seed=5).names_for(surfaces, gold, range(40))
    alone = [
        lookalikes.names_for([surface], [own], [index])[0]
        for index, (surface, own) in enumerate(zip(surfaces, gold, strict=True))
    ]
    assert found == alone


def test_names_are_drawn_evenly(lookalikes: Lookalikes) -> None:
    found = lookalikes.names_for(["fever"] * 900, [{FEVER}] * 900, range(900))
    _, counts = np.unique(found, return_counts=True)
    assert len(counts) == 3
    assert counts.min() > 240


def test_nothing_alike(lookalikes: Lookalikes) -> None:
    assert lookalikes.names_for(["xyz", "", "fever"], [{1}, {1}, set(range(8))], [0, 1, 2]) == [NONE, NONE, NONE]
    assert lookalikes.names_for([], [], []) == []
