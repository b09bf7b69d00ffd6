"""Tests of splitting composite mentions of BC5CDR."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.datasets.base import NO_ID
from onym.datasets.catalogue import COMPOSITE, cut
from onym.types import Mention
from tests.datasets.made import block, count_drops, pubtator, read, write


def composite(surface: str, ids: str, fragments: str | None) -> Mention:
    notes = [("ids", ids)] + ([("parts", fragments)] if fragments is not None else [])
    known = tuple(f"mesh:{part}" for part in ids.split("|") if part != "-1")
    return Mention(3, 3 + len(surface), surface, known, "Disease", notes=tuple(notes))


@pytest.mark.parametrize(
    ("surface", "ids", "fragments", "pieces"),
    [
        ("renal and liver failure", "D1|D2", "renal failure|liver failure", [("renal", "D1"), ("liver failure", "D2")]),
        ("renal or liver failure", "D1|D2", "renal failure|liver failure", [("renal", "D1"), ("liver failure", "D2")]),
        ("acidotic hot coma", "D1|D2|D3", "acidotic|hot|coma", [("acidotic", "D1"), ("hot", "D2"), ("coma", "D3")]),
        ("hot and cold and wet", "D1|D2", "hot|cold and wet", [("hot", "D1"), ("cold", "D2")]),
        ("renal/liver failure", "D1|D2", "renal failure|liver failure", []),
        ("renal, liver and heart failure", "D1|D2|D3", "a|b|c", []),
        ("renal and ", "D1|D2", "renal|and", []),
    ],
)
def test_splits_composites(surface: str, ids: str, fragments: str, pieces: list[tuple[str, str]]) -> None:
    whole = composite(surface, ids, fragments)
    found = cut(whole)
    assert [(piece.surface, piece.concept_ids) for piece in found] == [(text, (f"mesh:{i}",)) for text, i in pieces]
    for piece in found:
        assert surface[piece.start - 3 : piece.end - 3] == piece.surface
        assert piece.notes == (("composite", f"3|{whole.end}"),)


def test_keeps_mentions_without_fragments_or_with_one_id() -> None:
    for mention in (composite("fever", "D1", ""), composite("renal and liver", "D1|D2", None), Mention(0, 5, "fever")):
        assert cut(mention) == [mention]


def test_counts_drops_by_reason(tmp_path: Path) -> None:
    title = "salt, renal and liver failure, hot/cold, and aches or nothing"
    rows = (
        "salt\tChemical\t-1",
        "renal and liver failure\tDisease\tD051437|D017093\trenal failure|liver failure",
        "hot/cold\tDisease\tD000001|D000002\thot|cold",
        "aches or nothing\tDisease\tD000003|-1\taches|nothing",
    )
    for word in ("Training", "Development", "Test"):
        write(tmp_path / f"CDR_{word}Set.PubTator.txt", pubtator(block("1", title, *rows)))
    documents, drops = read("bc5cdr", tmp_path)
    for split in ("train", "dev", "test"):
        surfaces = [mention.surface for mention in documents[split][0].mentions]
        assert surfaces == ["renal", "liver failure", "aches"]
        assert count_drops(drops, split) == {NO_ID: 2, COMPOSITE: 1}
