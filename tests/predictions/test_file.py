"""Predictions in a file."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import OnymError
from onym.kb import KnowledgeBase
from onym.linkers.exact import ExactLinker
from onym.predictions.file import (
    Prediction,
    are_predictions,
    predictions_of,
    read_predictions,
    source_of,
    write_predictions,
)
from onym.types import Document, Mention

ids = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), min_size=1, max_size=3).map(tuple)
answers = st.lists(st.tuples(ids, st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 9)), max_size=4).map(tuple)
documents = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)


@given(st.lists(st.builds(Prediction, documents, st.integers(0, 99), st.integers(0, 99), answers), max_size=5))
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, predictions: list[Prediction]) -> None:
    path = tmp_path_factory.mktemp("p") / "p.jsonl"
    with path.open("wb") as file:
        assert write_predictions(predictions, {"linker": "x"}, file) == len(predictions)
    found = read_predictions(path)
    assert are_predictions(path)
    assert found.source == {"linker": "x"}
    first: dict[tuple[str, int, int], object] = {}
    for one in predictions:
        first.setdefault((one.document_id, one.start, one.end), one.answers)
    assert found.answers == first


def test_no_text_and_no_name_is_kept(tiny_kb: Path) -> None:
    linker = ExactLinker(KnowledgeBase.open(tiny_kb))
    doc = Document("1", "secret fever", (Mention(7, 12, "fever"),))
    file = io.BytesIO()
    write_predictions(predictions_of(linker.link([doc])), source_of(linker, 10, benchmark="b"), file)
    assert b"fever" not in file.getvalue()
    assert b"secret" not in file.getvalue()
    source = json.loads(file.getvalue().splitlines()[0])["source"]
    assert source["kb"]["digest"] == linker.kb.digest
    assert (source["linker"]["linker"], source["benchmark"], source["top_k"]) == ("exact", "b", 10)


@pytest.mark.parametrize(
    "line",
    [
        '{"document":"1","start":0,"end":5}',
        '{"document":1,"start":0,"end":5,"answers":[]}',
        '{"document":"1","start":0,"end":5,"answers":[["a:1",1.0]]}',
        '{"document":"1","start":0,"end":5,"answers":[["a:1",1e999,0]]}',
        '{"document":"1","start":0,"end":5,"answers":[[[],1.0,0]]}',
        '{"document":"1","start":0,"end":5,"answers":[[["a",2],1.0,0]]}',
        "[]",
        "nonsense",
    ],
)
def test_a_bad_line_is_named_by_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"kind":"predictions","format":1,"source":{}}\n' + line + "\n")
    with pytest.raises(OnymError, match=r"predictions-malformed|json-malformed") as caught:
        read_predictions(path)
    assert caught.value.where == "p.jsonl:2"


@pytest.mark.parametrize("text", ["", "{}\n", '{"kind":"predictions","format":2}\n', '{"kind":"predictions","format":1}\n'])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(text)
    with pytest.raises(OnymError, match="predictions-malformed"):
        read_predictions(path)


def test_concepts_that_share_a_name_share_its_number(tiny_kb: Path) -> None:
    linker = ExactLinker(KnowledgeBase.open(tiny_kb))
    (one,) = predictions_of(linker.link([Document("1", "MI", (Mention(0, 2, "MI"),))]))
    assert one.answers == ((("mesh:D006973",), 1.0, 0), (("mesh:D009203",), 1.0, 0))
