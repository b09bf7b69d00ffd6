"""Tests of explaining links, in Python and on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.exact import ExactLinker
from onym.methods.tfidf import TfidfLinker
from onym.packs import load
from onym.pipeline import Pipeline
from onym.types import Document, Mention
from tests.cli.command import onym
from tests.test_linked_documents import read


def explain_lines(pipeline: Pipeline, text: str, *spans: tuple[int, int]) -> list[str]:
    mentions = tuple(Mention(start, end, text[start:end]) for start, end in spans)
    return [line for each in pipeline.explain(Document("1", text, mentions)) for line in each.lines()]


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


def test_lines_for_exact_name_abbreviation_and_unlinked_mention(kb: KnowledgeBase) -> None:
    text = "Heart attack (HA); xyz"
    assert explain_lines(Pipeline(ExactLinker(kb)), text, (0, 12), (14, 16), (19, 22)) == [
        "concept: MESH:D009203 Myocardial Infarction",
        "matched name: 'Heart attack' (exact, tiny)",
        "score 1.000, decided by the name",
        "because the text is the name 'Heart attack'",
        "'HA' stands for 'Heart attack' in this document",
        "concept: MESH:D009203 Myocardial Infarction",
        "matched name: 'Heart attack' (exact, tiny)",
        "score 1.000, decided by the name",
        "because the text is the name 'Heart attack'",
        "not linked: no name of the knowledge base matches",
    ]


def test_tie_has_a_runner_up(kb: KnowledgeBase) -> None:
    (found,) = Pipeline(ExactLinker(kb)).explain(Document("1", "MI", (Mention(0, 2, "MI"),)))
    assert "1 other concept has the same score" in found.lines()
    assert (found.margin, found.as_dict()["runner_up"]) == (0.0, found.lines()[-1].split()[1])


PARENTS = """id\tname\tparents
x:1\tcold injury\tx:3
x:2\tcold\tx:4|x:5|x:6|x:7
x:3\tinjury\t
x:4\tinfection\t
x:5\tnose disease\t
x:6\tviral disease\t
x:7\tacute disease\t
x:8\tcold virus infection\tx:4|x:5|x:6|x:7
"""


def test_lines_show_parents_that_tell_candidates_apart(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text(PARENTS)
    build_kb(Recipe.of({"sources": [{"path": "x.tsv"}]}), tmp_path / "kb", root=tmp_path)
    pipeline = Pipeline(TfidfLinker(KnowledgeBase.open(tmp_path / "kb")))
    shared = "parents: infection; nose disease; viral disease; and 1 more"
    lines = explain_lines(pipeline, "cold", (0, 4))
    assert lines[:2] == ["concept: X:2 cold", shared]
    assert lines[-1].startswith("runner-up: X:1 cold injury (parents: injury), ")
    lines = explain_lines(pipeline, "cold virus", (0, 10))
    assert lines[:2] == ["concept: X:8 cold virus infection", shared]
    assert lines[-1].startswith("runner-up: X:2 cold, ")
    lines = explain_lines(pipeline, "infection", (0, 9))
    assert lines[:2] == ["concept: X:4 infection", "matched name: 'infection' (preferred, x)"]


def test_lines_show_mapped_headings(tmp_path: Path) -> None:
    (tmp_path / "mesh.tsv").write_text("D000001\tdrugs\t\tD01\nD000002\tacids\t\tD01.1\n")
    (tmp_path / "supp.tsv").write_text("C000001\tmade acid\t\tD000002\n")
    build_kb(Recipe.of({"sources": [{"path": "mesh.tsv"}, {"path": "supp.tsv"}]}), tmp_path / "kb", root=tmp_path)
    pipeline = Pipeline(ExactLinker(KnowledgeBase.open(tmp_path / "kb")))
    assert explain_lines(pipeline, "made acid", (0, 9))[1] == "mapped to: acids"


def test_similar_names_are_reasons(kb: KnowledgeBase) -> None:
    (found,) = Pipeline(TfidfLinker(kb)).explain(Document("1", "hart attack", (Mention(0, 11, "hart attack"),)))
    assert (found.evidence.reasons[0].kind, found.evidence.reasons[0].text) == ("similar-name", "Heart attack")
    assert all(0 < each.value < 1 for each in found.evidence.reasons)


def test_reranker_gives_memories_and_effects() -> None:
    starter = load("starter")
    (found, other) = starter.explain("Patients with renal insufficiency and breast tumours.")
    reasons = (*found.evidence.reasons, *other.evidence.reasons)
    assert {each.kind for each in reasons} >= {"similar-name", "memory"}
    effects = found.evidence.effects
    assert effects
    assert [abs(each.effect) for each in effects] == sorted((abs(each.effect) for each in effects), reverse=True)
    assert found.as_dict()["source"]["kb"]["digest"] == starter.kb.digest
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["concept_id"].startswith("MESH:")


def test_first_effect_supports_the_concept() -> None:
    starter = load("starter")
    (found,) = starter.explain("Patients with type 2 diabetes mellitus.")
    assert found.evidence.effects[0].effect > 0
    assert found.evidence.effects[0].value != found.evidence.effects[0].runner_up
    assert found.runner_up is not None


def test_lines_for_mention_below_precision(tmp_path: Path) -> None:
    found = load("starter").with_precision(0.98).explain("A case of breast tumours and pain.")
    assert found[0].lines()[0] == "not linked: the confidence is below what the target precision needs"
    assert found[0].lines()[1].startswith("best candidate: MESH:")


def test_html_titles_are_the_explanations(kb: KnowledgeBase) -> None:
    text = "Heart attack (HA) <b> xyz"
    spans = (Mention(22, 25, "xyz"), Mention(0, 12, "Heart attack"), Mention(14, 16, "HA"))
    explained = Pipeline(ExactLinker(kb)).explain(Document("1", text, spans))
    marks = read(explained._repr_html_())
    assert marks.text == text
    assert marks.titles == ["\n".join(explained[at].lines()) for at in (1, 2, 0)]
    assert "script" not in marks.tags


def test_explain_writes_html_page(tmp_path: Path) -> None:
    done = onym("explain", "A case of Reiter syndrome.", "-o", "page.html", cwd=tmp_path)
    assert done.stdout == "documents\t1\npage\tpage.html\n"
    (title,) = read((tmp_path / "page.html").read_text("utf-8")).titles
    assert "because the text is the name 'Reiter Syndrome'" in (title or "")
    assert "exists" in onym("explain", "fever", "-o", "page.html", cwd=tmp_path, status=2).stderr
    assert "config-invalid" in onym("explain", "fever", "-o", "b.html", "--json", cwd=tmp_path, status=2).stderr


def test_explain_command(tmp_path: Path) -> None:
    done = onym("explain", "A case of Reiter syndrome.", cwd=tmp_path)
    assert done.stdout.splitlines()[0] == "1:10-25  Reiter syndrome"
    assert "  because the text is the name 'Reiter Syndrome'" in done.stdout
    linked, rejected = map(
        json.loads, onym("explain", "A case of Reiter syndrome.", "--json", cwd=tmp_path).stdout.splitlines()
    )
    assert linked["matched_name"] == "Reiter Syndrome"
    assert {name: rejected[name] for name in ("document", "start", "end", "text", "rejected")} == {
        "document": "1",
        "start": 17,
        "end": 25,
        "text": "syndrome",
        "rejected": "overlapped",
    }


def test_explains_names_not_taken_as_mentions(tmp_path: Path) -> None:
    lines = onym("explain", "No syndrome, no leukemia.", cwd=tmp_path).stdout.splitlines()
    assert "1:16-24  leukemia" in lines
    assert lines[-2] == "1:3-11  syndrome"
    assert lines[-1].startswith("  not a mention: the detector's probability is 0.")


def test_note_for_text_without_names(tmp_path: Path) -> None:
    note = "no name of the knowledge base occurs in this text"
    assert onym("explain", "Nothing.", cwd=tmp_path).stdout == f"1  {note}\n"
    done = onym("explain", "Nothing.", "--json", cwd=tmp_path)
    assert (done.stdout, note in done.stderr) == ("", True)


def test_annotated_documents_have_no_rejections(kb: KnowledgeBase) -> None:
    pipeline = Pipeline(ExactLinker(kb), DictionaryDetector(kb))
    assert pipeline.explain(Document("1", "fever, MI", (Mention(0, 5, "fever"),))).rejections == ()
    assert [each.surface for each in pipeline.explain("fever, MI").rejections] == ["MI"]
    without = pipeline.without_detector().explain("fever, MI")
    assert (without.rejections, without.note) == (
        (),
        "the document has no annotated mentions, and the pipeline has no detector",
    )


def test_html_lists_names_not_taken_as_mentions(kb: KnowledgeBase) -> None:
    shown = Pipeline(ExactLinker(kb), DictionaryDetector(kb)).explain("fever, MI")._repr_html_()
    assert "<summary>Not taken as mentions: 1</summary><ul><li>MI: the name has fewer than" in shown
    nothing = Pipeline(ExactLinker(kb), DictionaryDetector(kb)).explain("<b>")._repr_html_()
    assert nothing.endswith("<p>no name of the knowledge base occurs in this text</p>")


def test_reports_malformed_document(tmp_path: Path) -> None:
    (tmp_path / "bad.pubtator").write_text("1|t|Fever\n1|a|\n1\t0\t4\tcough\tDisease\tD1\n")
    done = onym("explain", "bad.pubtator", cwd=tmp_path, status=5)
    assert "corpus-" in done.stderr
    assert "cough" not in done.stderr
