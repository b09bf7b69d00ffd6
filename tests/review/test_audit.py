"""Audits from plan to report, on desks with known gold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onym.errors import ConfigError, InputError, IntegrityError
from onym.kb import KnowledgeBase
from onym.review.audit import PLAN, AuditOptions, AuditPlan, create_audit, plan_audit, read_plan
from onym.review.create import ReviewedDocument, create_desk
from onym.review.desk import Desk, open_desk
from onym.review.report import AuditReport, open_problems, report_audit, report_page, report_rows
from onym.types import Candidate, Link, Mention
from tests.review.desks import FEVER, decide, make_desk

WRONG = Candidate("mesh:D009203", "mi", 0.8, "Myocardial Infarction", "Disease")
TEXT = "fever fever fever fever fever fever"


def list_documents(count: int = 60) -> list[ReviewedDocument]:
    """Return documents with five links each, right in proportion to their confidence, and an unlinked mention."""
    rng = np.random.default_rng(0)
    documents = []
    for number in range(count):
        links = []
        for at in range(5):
            confidence = float(rng.uniform(0.5, 1))
            candidate = FEVER if rng.random() < confidence else WRONG
            links.append(Link(Mention(6 * at, 6 * at + 5, "fever"), (candidate,), confidence=confidence))
        links.append(Link(Mention(30, 35, "fever"), (), nil_reason="no-candidate"))
        documents.append(ReviewedDocument(str(number), TEXT, tuple(links)))
    return documents


def make_audit(path: Path, kb: KnowledgeBase, documents: list[ReviewedDocument], **options: Any) -> AuditPlan:
    plan = plan_audit(documents, AuditOptions(**options))
    create_audit(path, documents, kb, {}, plan=plan)
    return plan


def decide_all(desk: Desk, *, missed: bool = True) -> None:
    """Decide what is queued as a reviewer who knows that every mention is a fever."""
    for number, link in enumerate(desk.links(queued=True)):
        if link.concept_id is None:
            desk.decide(decide(number, "concept", link=link.number, concept_id=FEVER.concept_id))
        elif link.concept_id == FEVER.concept_id:
            desk.decide(decide(number, "right", link=link.number, concept_id=FEVER.concept_id))
        else:
            desk.decide(decide(number, "concept", link=link.number, concept_id=FEVER.concept_id))


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.sqlite"


def _report(path: Path, kb: KnowledgeBase | None = None, **options: Any) -> AuditReport:
    with open_desk(path) as desk:
        return report_audit(desk, kb, **options)


def test_audit_from_plan_to_report(path: Path, kb: KnowledgeBase) -> None:
    documents = list_documents()
    plan = make_audit(path, kb, documents, margin=0.05, recall_margin=0.1)
    with open_desk(path) as desk:
        decide_all(desk)
    found = _report(path, kb)
    links = [link for each in documents for link in each.links]
    right = sum(link.concept_id == FEVER.concept_id for link in links)
    assert (found.links, found.documents) == (300, 60)
    assert found.precision is not None
    assert found.precision.labels == len(plan.links) < 300
    assert found.precision.low <= right / 300 <= found.precision.high
    assert found.precision.margin == pytest.approx(0.05, abs=0.02)
    assert found.recall is not None
    assert found.recall.low <= right / 360 <= found.recall.high
    assert found.recall.labels == 6 * len(plan.documents)
    assert found.recall_by_type is not None
    assert list(found.recall_by_type) == ["Disease"] or len(found.recall_by_type) == 1
    assert found.savings is not None
    assert found.savings.at_random is not None
    assert open_problems(found) == []
    assert dict(report_rows(found))["precision, %"] == str(found.precision)
    assert "Precision" in report_page(found, "My audit")


def test_no_estimate_before_everything_is_decided(path: Path, kb: KnowledgeBase) -> None:
    make_audit(path, kb, list_documents(), margin=0.05, recall_margin=0.1)
    found = _report(path)
    assert found.precision is None
    assert found.recall is None
    assert len(open_problems(found)) == 2
    assert "not decided" in report_page(found, "Audit")
    with open_desk(path) as desk:
        decide_all(desk)
        first = next(desk.links(queued=True))
        desk.decide(decide(9_999, "undo", undoes="decision-0"))
        assert report_audit(desk).progress.documents < report_audit(desk).progress.documents_drawn or first.number
    assert _report(path).precision is None or _report(path).recall is None


def test_unsure_labels_are_left_out(path: Path, kb: KnowledgeBase) -> None:
    plan = make_audit(path, kb, list_documents(), margin=0.05, recall_margin=0.1)
    with open_desk(path) as desk:
        decide_all(desk)
        desk.decide(decide(9_999, "unsure", link=plan.links[0][0]))
    found = _report(path)
    assert found.progress.links_unsure == 1
    assert found.precision is not None
    assert found.precision.labels == len(plan.links) - 1


def test_missed_mentions_lower_recall(path: Path, kb: KnowledgeBase) -> None:
    documents = list_documents()
    plan = make_audit(path, kb, documents, margin=0.05, recall_margin=0.1)
    with open_desk(path) as desk:
        decide_all(desk)
        before = report_audit(desk).recall
        for number in plan.documents:
            more = {"document": number, "start": 0, "end": 3, "concept_id": "mesh:D005334"}
            desk.decide(decide(10_000 + number, "missed", **more))
        after = report_audit(desk).recall
    assert before is not None
    assert after is not None
    assert after.value == pytest.approx(before.value * 6 / 7)


def test_documents_without_links_must_be_read(path: Path, kb: KnowledgeBase) -> None:
    documents = [*list_documents(12), *(ReviewedDocument(f"empty {number}", TEXT) for number in range(3))]
    plan = make_audit(path, kb, documents, margin=0.1, recall_margin=0.02)
    assert plan.documents == tuple(range(1, 16))
    with open_desk(path) as desk:
        decide_all(desk)
    found = _report(path)
    assert found.progress.empty == 3
    assert found.recall is None
    assert "--empty-read" in open_problems(found)[0]
    read = _report(path, empty_read=True).recall
    assert read is not None
    assert read.low == read.high == read.value


def test_decisions_of_one_reviewer(path: Path, kb: KnowledgeBase) -> None:
    make_audit(path, kb, list_documents(), margin=0.05, recall_margin=None)
    with open_desk(path) as desk:
        decide_all(desk)
    assert _report(path, reviewer="ann").precision is not None
    assert _report(path, reviewer="bob").precision is None


def test_an_audit_without_recall(path: Path, kb: KnowledgeBase) -> None:
    plan = make_audit(path, kb, list_documents(), margin=0.05, recall_margin=None)
    assert plan.documents == ()
    with open_desk(path) as desk:
        assert sum(1 for _ in desk.links(queued=True)) == len(plan.links)
        decide_all(desk)
    found = _report(path)
    assert found.recall is None
    assert open_problems(found) == []


def test_links_without_confidence(path: Path, kb: KnowledgeBase) -> None:
    links = tuple(Link(Mention(6 * at, 6 * at + 5, "fever"), (FEVER,)) for at in range(6))
    documents = [ReviewedDocument(str(number), TEXT, links) for number in range(50)]
    plan = make_audit(path, kb, documents, margin=0.05, recall_margin=None)
    assert [each.low for each in plan.strata] == [None]
    with open_desk(path) as desk:
        decide_all(desk)
    found = _report(path)
    assert found.precision is not None
    assert found.precision.value == 1.0
    assert found.precision.low > 0.95
    assert found.savings is not None
    assert found.savings.at_random is None


def test_the_same_seed_draws_the_same_links() -> None:
    documents = list_documents()
    assert plan_audit(documents) == plan_audit(documents)
    assert plan_audit(documents).links != plan_audit(documents, AuditOptions(seed=1)).links


def test_nothing_to_audit() -> None:
    with pytest.raises(ConfigError, match="audit-plan"):
        plan_audit([ReviewedDocument("1", TEXT)])


def test_a_desk_without_a_plan_is_an_error(path: Path, kb: KnowledgeBase) -> None:
    make_desk(path, kb)
    with open_desk(path) as desk, pytest.raises(InputError, match="not made for an audit"):
        read_plan(desk)


@pytest.mark.parametrize("change", ["{}", "nonsense", "stratum"])
def test_a_damaged_plan_is_an_error(path: Path, kb: KnowledgeBase, change: str) -> None:
    plan = plan_audit(list_documents(), AuditOptions(0.05, None))
    damaged = plan.model_copy(update={"links": ((1, 99),)}).model_dump_json() if change == "stratum" else change
    create_desk(path, list_documents(), kb, {}, values={PLAN: damaged})
    with open_desk(path) as desk, pytest.raises(IntegrityError, match="plan of the audit"):
        read_plan(desk)
