"""Makes small desks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onym.kb import KnowledgeBase
from onym.review.create import DeskCounts, DeskOptions, ReviewedDocument, create_desk
from onym.review.decisions import Decision, Verdict
from onym.types import Candidate, Link, Mention

FEVER = Candidate("mesh:D005334", "fever", 0.9, "Fever", "Disease")
INFARCT = Candidate("mesh:D009203", "mi", 0.8, "Myocardial Infarction", "Disease")
PRESSURE = Candidate("mesh:D006973", "mi", 0.7, "Hypertension", "Disease")


def link_at(text: str, surface: str, *candidates: Candidate, after: int = 0, **more: Any) -> Link:
    """Return a link at the first place of a surface in a text."""
    start = text.index(surface, after)
    return Link(Mention(start, start + len(surface), surface), candidates, **more)


NOTES = ("High fever. No MI, but MI in the family.", "Myocardial ischemia (MI) and fever.", "MI again.")


def list_documents(texts: Sequence[str] = NOTES) -> list[ReviewedDocument]:
    """Return three documents with links: fever, and MI with two meanings."""
    one, two, three = texts
    return [
        ReviewedDocument(
            "1",
            one,
            (
                link_at(one, "fever", FEVER, confidence=0.9),
                link_at(one, "MI", INFARCT, PRESSURE, confidence=0.6),
                link_at(one, "MI", INFARCT, PRESSURE, after=18, confidence=0.5),
            ),
        ),
        ReviewedDocument(
            "2", two, (link_at(two, "MI", INFARCT, PRESSURE, confidence=0.3), link_at(two, "fever", FEVER, confidence=0.95))
        ),
        ReviewedDocument("3", three, (link_at(three, "MI", INFARCT, PRESSURE, confidence=0.55),)),
    ]


def make_desk(path: Path, kb: KnowledgeBase, options: DeskOptions | None = None) -> DeskCounts:
    """Write a desk of the three documents."""
    return create_desk(path, list_documents(), kb, {"linker": "exact"}, options)


def decide(number: int, verdict: Verdict, **more: Any) -> Decision:
    """Return a decision of Ann."""
    return Decision(
        **{"id": f"decision-{number}", "reviewer": "ann", "time": "2026-11-19T08:00:00+00:00", "verdict": verdict, **more}
    )
