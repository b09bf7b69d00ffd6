"""Tests of the spaCy component: entities, candidates, and spans that do not match tokens."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy import displacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from onym.errors import InputError
from onym.integrations import spacy as component
from onym.integrations.spacy import OnymPipe, create
from onym.packs import load
from onym.pipeline import build_pipeline
from onym.pipeline.pipeline import Pipeline
from onym.types import Candidate, Document, Link, LinkedDocument, Mention, Problem

ROOT = Path(__file__).parents[2]
TEXT = "High fever, no heart attack."


@pytest.fixture(scope="session")
def folder(tiny_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("spacy") / "pipeline"
    build_pipeline(tiny_kb, path)
    return str(path)


@pytest.fixture
def nlp(folder: str) -> Language:
    return with_onym(folder)


def with_onym(folder: str, **config: Any) -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("onym", config={"pipeline": folder, **config})
    return nlp


def describe_spans(doc: Doc) -> list[Any]:
    """Return all link data of the spans of a doc."""
    return [[(*key(span), span._.onym, span._.kb_ents) for span in spans] for spans in (doc.ents, doc.spans["onym"])]


def key(span: Span) -> tuple[int, int, str, str]:
    return span.start_char, span.end_char, span.label_, span.kb_id_


def test_entry_point_is_the_factory() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["spacy_factories"]
    assert {name: EntryPoint(name, value, "spacy_factories").load() for name, value in points.items()} == {"onym": create}


def test_entities_have_links(nlp: Language, folder: str) -> None:
    doc = nlp(TEXT)
    linked = load(folder).link(TEXT)
    assert [(ent.text, ent.kb_id_) for ent in doc.ents] == [("fever", "MESH:D005334"), ("heart attack", "MESH:D009203")]
    for ent, link, row in zip(doc.ents, linked.links, linked.rows(), strict=True):
        found = ent._.onym
        assert (found.start, found.end) == (link.mention.start, link.mention.end)
        values = {name: value for name, value in row.items() if name not in ("document", "text")} | {
            "assertion": link.assertion
        }
        assert {name: getattr(found, name) for name in values} == values
        assert [each.name for each in found.candidates] == [each.name for each in link.candidates]
        assert ent._.kb_ents == [(each.concept_id, each.score) for each in found.candidates]
        assert ent.label_ == (row["type"] or "ENTITY")
    assert list(map(key, doc.spans["onym"])) == list(map(key, doc.ents))
    assert doc[0:1]._.onym is None
    assert doc[0:1]._.kb_ents == []


def test_negated_mentions_are_marked_unless_switched_off(nlp: Language, folder: str) -> None:
    assert [ent._.onym.assertion for ent in nlp("High fever, no heart attack.").ents] == [(), ("negated",)]
    bare = spacy.blank("en")
    bare.add_pipe("onym", config={"pipeline": folder, "options": {"assertion": False}})
    assert [ent._.onym.assertion for ent in bare("High fever, no heart attack.").ents] == [None, None]


def test_kb_ents_are_compatible_with_scispacy(nlp: Language) -> None:
    linker = nlp.get_pipe("onym")
    first = [ent._.kb_ents[0] for ent in nlp(TEXT).ents]
    assert all(type(each) is tuple and isinstance(each[0], str) and isinstance(each[1], float) for each in first)
    assert linker.kb[first[0][0]].preferred_name == "Fever"  # type: ignore[attr-defined]


class Marking:
    """A fake pipeline that returns given links."""

    def __init__(self, *links: tuple[int, int, str]) -> None:
        self._links = links

    def link_many(self, docs: Iterable[Document]) -> Iterator[LinkedDocument]:
        for doc in docs:
            mentions = [Mention(start, end, doc.text[start:end], type="Disease") for start, end, _ in self._links]
            found = (Link(each, (Candidate(id_, "n", 1.0),)) for each, (_, _, id_) in zip(mentions, self._links, strict=True))
            yield LinkedDocument(doc, tuple(found))


def mark_text(nlp: Language, text: str, *links: tuple[int, int, str]) -> Doc:
    nlp.get_pipe("onym").pipeline = Marking(*links)  # type: ignore[attr-defined]
    return nlp(text)


def test_mention_inside_a_token_keeps_its_offsets(nlp: Language) -> None:
    doc = mark_text(nlp, "antifebrile", (4, 9, "mesh:D1"))
    assert doc.ents[0].text == "antifebrile"
    assert (doc.ents[0]._.onym.start, doc.ents[0]._.onym.end) == (4, 9)


def test_overlapping_mentions_are_all_in_spans(nlp: Language) -> None:
    links = [(0, 4, "mesh:D1"), (0, 11, "mesh:D2"), (5, 11, "mesh:D3"), (5, 8, "mesh:D4"), (6, 9, "mesh:D4")]
    doc = mark_text(nlp, "lung cancers", *links)
    assert [(ent.text, ent.kb_id_) for ent in doc.ents] == [("lung cancers", "MESH:D2")]
    found = [(span._.onym.start, span._.onym.end, span._.onym.concept_id.lower()) for span in doc.spans["onym"]]
    assert found == [(start, end, id_.lower()) for start, end, id_ in links]
    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert describe_spans(again) == describe_spans(doc)


def test_unlinked_mentions_have_candidates_but_no_kb_ents(folder: str) -> None:
    nlp = with_onym(folder)
    pipe = nlp.get_pipe("onym")
    pipe.pipeline = pipe.pipeline.with_threshold(2.0)  # type: ignore[attr-defined]
    (ent,) = nlp("fever").ents
    assert (ent.kb_id_, ent._.kb_ents, ent._.onym.nil_reason) == ("", [], "below-threshold")
    assert [each.concept_id for each in ent._.onym.candidates] == ["MESH:D005334"]


def test_keeps_other_entities_without_overlap(folder: str) -> None:
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "DATE", "pattern": "Monday"}, {"label": "X", "pattern": "High fever"}])  # type: ignore[attr-defined]
    nlp.add_pipe("onym", config={"pipeline": folder})
    assert [(ent.text, ent.label_) for ent in nlp("High fever on Monday").ents] == [("fever", "Disease"), ("Monday", "DATE")]


def test_use_entities_links_existing_entities(folder: str) -> None:
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    patterns = [{"label": "SIGN", "pattern": "pyrexia", "id": "s1"}, {"label": "DATE", "pattern": "Monday"}]
    patterns.append({"label": "SIGN", "pattern": "MI"})
    ruler.add_patterns(patterns)  # type: ignore[attr-defined]
    nlp.add_pipe("onym", config={"pipeline": folder, "use_entities": True})
    docs = list(nlp.pipe(["pyrexia, a heart attack on Monday", "heart attack"]))
    assert [[(ent.text, ent.label_, ent.id_, ent.kb_id_) for ent in doc.ents] for doc in docs] == [
        [("pyrexia", "SIGN", "s1", "MESH:D005334"), ("Monday", "DATE", "", "")], [],
    ]  # fmt: skip
    assert docs[0].ents[0]._.onym.preferred_name == "Fever"
    assert docs[0].ents[1]._.onym.nil_reason == "no-candidate"
    assert len(nlp("MI").ents[0]._.kb_ents) == 2  # two concepts share this name


@pytest.mark.parametrize("batch_size", [1, 3, 1000])
def test_pipe_equals_single_calls(nlp: Language, batch_size: int) -> None:
    texts = [f"{number} fever, heart attack" for number in range(7)] + [""]
    docs = list(nlp.pipe(texts, batch_size=batch_size))
    assert [doc.text for doc in docs] == texts
    assert [describe_spans(doc) for doc in docs] == [describe_spans(nlp(text)) for text in texts]


def test_pipe_is_lazy(nlp: Language) -> None:
    read = []
    stream = nlp.pipe((read.append(number) or "fever" for number in range(100)), batch_size=4)  # type: ignore[func-returns-value]
    next(stream)
    assert len(read) == 4


@pytest.mark.slow
def test_multiprocessing(folder: str) -> None:
    # run in a new interpreter: the test process has threads, which do not survive a fork
    code = (
        "import spacy, onym.integrations.spacy\nnlp = spacy.blank('en')\n"
        f"nlp.add_pipe('onym', config={{'pipeline': {folder!r}}})\n"
        "docs = list(nlp.pipe(['High fever.', 'heart attack', 'none'] * 3, n_process=2, batch_size=2))\n"
        "print([[(ent.kb_id_, ent._.kb_ents, ent._.onym.start) for ent in doc.ents] for doc in docs])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=240)
    expected = [
        [(ent.kb_id_, ent._.kb_ents, ent._.onym.start) for ent in with_onym(folder)(text).ents]
        for text in ["High fever.", "heart attack", "none"] * 3
    ]
    assert done.stdout.strip() == str(expected), done.stderr


def test_pickle_reopens_the_folder(folder: str) -> None:
    again = pickle.loads(pickle.dumps(OnymPipe("mine", folder, use_entities=True)))
    assert (again.name, again.folder, again.use_entities) == ("mine", folder, True)
    assert again.pipeline.detector is None


def test_round_trips_to_disk(nlp: Language, folder: str, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "model")
    assert describe_spans(spacy.load(tmp_path / "model")(TEXT)) == describe_spans(nlp(TEXT))
    other = spacy.blank("en")
    other.add_pipe("onym", config={"pipeline": folder})
    assert describe_spans(other.from_bytes(nlp.to_bytes())(TEXT)) == describe_spans(nlp(TEXT))


def test_round_trips_through_doc_bin(nlp: Language) -> None:
    doc = nlp(TEXT)
    data = DocBin(store_user_data=True, docs=[doc]).to_bytes()
    (again,) = DocBin().from_bytes(data).get_docs(spacy.blank("en").vocab)
    assert describe_spans(again) == describe_spans(doc)


def test_displacy_shows_concepts(nlp: Language) -> None:
    page = displacy.render(nlp(TEXT), style="ent", options={"kb_url_template": "https://bioregistry.io/{}"}, jupyter=False)
    assert 'href="https://bioregistry.io/MESH:D005334"' in page
    assert ">MESH:D009203" in page.replace("\n", "").replace(" ", "")


def test_failed_text_goes_to_error_handler(nlp: Language) -> None:
    class Failing(Marking):
        def link_many(self, docs: Iterable[Document]) -> Iterator[LinkedDocument]:
            for doc in docs:
                bad = (Problem(doc.id, "limit-record", "too long"),) if "patient" in doc.text else ()
                yield LinkedDocument(doc, problems=bad)

    nlp.get_pipe("onym").pipeline = Failing()  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="document-failed") as caught:
        nlp("patient Smith")
    assert "Smith" not in str(caught.value)
    with pytest.raises(InputError, match="document-failed"):
        list(nlp.pipe(["fever", "patient Smith"]))
    failed: list[str] = []

    def note(name: str, _pipe: object, docs: list[Doc], _error: Exception) -> None:
        failed.extend(f"{name}: {doc.text}" for doc in docs)

    nlp.set_error_handler(note)  # type: ignore[arg-type]
    assert [doc.text for doc in nlp.pipe(["fever", "patient Smith", "cough"])] == ["fever", "cough"]
    assert failed == ["onym: patient Smith"]


def test_missing_spacy_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy.language", None)
    monkeypatch.delitem(sys.modules, component.__name__)
    code = compile(Path(component.__file__).read_text(), component.__file__, "exec")
    with pytest.raises(Exception, match=r"pip install 'onym\[spacy\]'"):
        exec(code, {"__name__": "onym.integrations.other"})


def test_component_has_the_pipeline(nlp: Language) -> None:
    assert isinstance(nlp.get_pipe("onym").pipeline, Pipeline)  # type: ignore[attr-defined]
