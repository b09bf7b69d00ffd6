"""Tests of the confidence, target precision and target coverage of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from onym.calibrate import Answers, Calibration, ScoredAnswer
from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.methods import linker_config, open_linker
from onym.methods.exact import ExactLinker
from onym.methods.reranker.model import Reranker
from onym.methods.tfidf import TfidfLinker
from onym.pipeline import Pipeline
from onym.pipeline.finish import Confidence, confidence_of
from onym.types import Candidate, Document, Link, Mention
from tests.methods.reranker.test_model import write_folder
from tests.pipeline.calibrated import fit_calibration

FEVER = Mention(0, 5, "fever", type="Disease")


def link(*scores: float) -> Link:
    return Link(FEVER, tuple(Candidate(f"a:{row}", "fever", score) for row, score in enumerate(scores)))


def finish(confidence: Confidence, links: Sequence[Link]) -> list[Link]:
    return [confidence.select(each) for each in confidence.estimate(links)]


def test_links_with_candidates_get_a_confidence() -> None:
    confidence = confidence_of(fit_calibration())
    assert confidence is not None
    confident, doubtful, empty = finish(confidence, [link(0.95, 0.1), link(0.05, 0.01), link()])
    assert confident.confidence is not None
    assert doubtful.confidence is not None
    assert (confident.confidence > 0.8, doubtful.confidence < 0.5, empty.confidence) == (True, True, None)
    assert (confident.nil_reason, doubtful.nil_reason, empty.nil_reason) == (None, None, "no-candidate")
    assert confidence.estimate([]) == []


def test_a_type_with_a_calibration_of_its_own_uses_it() -> None:
    fitted = fit_calibration()
    flat = fit_calibration(share=0.1)
    own = fitted.model_copy(update={"by_type": {"Gene": flat.calibration}})
    confidence = confidence_of(own)
    of_all, of_genes = confidence_of(fitted), confidence_of(flat)
    assert confidence is not None
    assert of_all is not None
    assert of_genes is not None
    gene = replace(link(0.9, 0.1), mention=replace(FEVER, type="Gene"))
    disease, other, empty = finish(confidence, [link(0.9, 0.1), gene, link()])
    assert disease.confidence == of_all.estimate([link(0.9, 0.1)])[0].confidence
    assert other.confidence == of_genes.estimate([gene])[0].confidence
    assert (other.confidence or 0) < (disease.confidence or 0)
    assert empty.confidence is None


def test_links_below_precision_are_unlinked_and_keep_candidates() -> None:
    confidence = confidence_of(fit_calibration(), precision=0.9)
    assert confidence is not None
    confident, doubtful = finish(confidence, [link(1.0, 0.1), link(0.2, 0.1)])
    assert (confident.concept_id, doubtful.concept_id, doubtful.nil_reason) == ("a:0", None, "below-precision")
    assert len(doubtful.candidates) == 2


def test_candidate_set_is_small_for_confident_links() -> None:
    confidence = confidence_of(fit_calibration(), coverage=0.8)
    assert confidence is not None
    confident, doubtful = finish(confidence, [link(1.0, 0.1, 0.05), link(0.1, 0.1, 0.05)])
    assert len(confident.candidates) == 1
    assert len(doubtful.candidates) == 2
    assert doubtful.tied == 1


def test_unreachable_precision_error_names_the_highest() -> None:
    with pytest.raises(ConfigError, match="precision-unreachable") as error:
        confidence_of(fit_calibration(), precision=0.9999)
    assert "the highest is" in error.value.what
    with pytest.raises(ConfigError, match="pipeline-uncalibrated"):
        confidence_of(None, coverage=0.9)
    with pytest.raises(InputError, match="calibration-invalid"):
        confidence_of(fit_calibration(), coverage=0.123)
    assert confidence_of(None) is None


def test_pipeline_applies_and_reports_precision(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    pipeline = Pipeline(TfidfLinker(kb), calibration=fit_calibration())
    doc = Document("1", "fevr and fever", (Mention(0, 4, "fevr"), Mention(9, 14, "fever")))
    typo, exact = pipeline.with_precision(0.95).link(doc).links
    assert (typo.nil_reason, exact.concept_id) == ("below-precision", "mesh:D005334")
    assert typo.confidence is not None
    assert [each.confidence for each in pipeline.link(doc).links] == [typo.confidence, exact.confidence]
    precise = pipeline.with_coverage(0.9).with_precision(0.9)
    assert (precise.config["coverage"], precise.config["precision"]) == (0.9, 0.9)
    assert "precision" not in pipeline.config
    with pytest.raises(ConfigError, match="pipeline-uncalibrated"):
        Pipeline(ExactLinker(kb)).with_precision(0.9)


def test_junk_terms_are_left_unlinked(tiny_kb: Path) -> None:
    pipeline = Pipeline(TfidfLinker(KnowledgeBase.open(tiny_kb)), calibration=fit_calibration()).with_precision(0.95)
    for junk in ("n/a", "see notes 12/3", "?", "-", "fever see page 7 of the other notes"):
        assert pipeline.link(Document("1", junk, (Mention(0, len(junk), junk),))).links[0].concept_id is None


def test_calibration_replaces_reranker_confidence(tmp_path: Path, tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    linker = open_linker(linker_config("rerank", model=str(write_folder(tmp_path / "model"))), kb)
    doc = Document("1", "fevers, qqq", (Mention(0, 6, "fevers"), Mention(8, 11, "qqq")))
    own = Pipeline(linker).link(doc)

    monkeypatch.setattr(Reranker, "confidences", lambda _self, scores: [0.5] * len(scores))
    calibrated = Pipeline(linker, calibration=fit_calibration())
    replaced = confidence_of(fit_calibration())
    assert replaced is not None
    assert list(calibrated.link(doc).links) == finish(replaced, own.links)
    assert calibrated.link(doc).links[0].confidence not in (None, 0.5, own.links[0].confidence)
    found = fit_calibration().model_copy(update={"mentions": "found"})
    assert Pipeline(linker, calibration=found).for_terms().link(doc).links[0].confidence == 0.5


def test_calibration_knows_whether_a_surface_is_a_name(tiny_kb: Path) -> None:
    rows = [(row % 2 == 0, row % 3 == 0) for row in range(300)]  # names are right, other surfaces mostly wrong
    calibration = Calibration.fit(
        Answers.of(ScoredAnswer(0.9, 0.1, 2, 0, 8, is_named=named) for named, _ in rows),
        [1 if named or lucky else None for named, lucky in rows],
        [str(row % 20) for row in range(300)],
        [""] * 300,
    )
    assert calibration.uses_names
    fitted = fit_calibration().model_copy(update={"calibration": calibration})
    pipeline = Pipeline(TfidfLinker(KnowledgeBase.open(tiny_kb)), calibration=fitted)
    exact, typo = pipeline.link(Document("1", "fever, fevr", (Mention(0, 5, "fever"), Mention(7, 11, "fevr")))).links
    assert exact.confidence is not None
    assert typo.confidence is not None
    assert exact.confidence > 0.9 > typo.confidence
