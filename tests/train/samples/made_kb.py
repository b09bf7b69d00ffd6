"""A knowledge base with a concept for every kind of template."""

from __future__ import annotations

from pathlib import Path

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe

ROWS = """id\tname\tsynonyms\tdefinition
mesh:D000001\tMyocardial Infarction\tHeart attack|Cardiac infarct|Heart infarct\tNecrosis START of the END myocardium </s> .
mesh:D000002\tFever\tPyrexia|Hyperthermia|Febrile state|Raised temperature|fever.\t
mesh:D000003\tHypertension\tHigh blood pressure\t
mesh:D000004\tIsoniazid\t\t
mesh:D000005\tAsthma\t\tA disease of the airways, with many words that go on and on until there is no room for any more of them.
mesh:D000006\tTwo definitions\tDefined twice\tThe first of three.
mesh:D000006\tTwo definitions\tDefined twice\tThe second of three.
mesh:D000006\tTwo definitions\tDefined twice\tThe third of three.
mesh:D000007\tHeart attack alert\tHeart attack\t
"""


def make_kb(folder: Path) -> KnowledgeBase:
    (folder / "made.tsv").write_text(ROWS)
    build_kb(Recipe.of({"sources": [{"path": "made.tsv"}]}), folder / "kb", root=folder)
    return KnowledgeBase.open(folder / "kb")
