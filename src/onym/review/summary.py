"""Counts of a desk: links, decisions that hold, reviewers and seconds."""

from __future__ import annotations

from collections import Counter
from typing import Any

from onym.review.decisions import Standing
from onym.review.desk import Desk


def summarise(desk: Desk) -> dict[str, Any]:
    """Return the counts of a desk. `verdicts` counts queued links by the decision that holds for them."""
    decisions = list(desk.decisions())
    standing = Standing(decisions)
    verdicts: Counter[str] = Counter()
    links = queued = 0
    for link in desk.links():
        links += 1
        if link.is_queued:
            queued += 1
            found = standing.of(link.number, link.document, link.cluster)
            verdicts[found.verdict if found else "undecided"] += 1
    reviewers = Counter(each.reviewer for each in decisions if each.verdict != "undo")
    return {
        "documents": sum(1 for _ in desk.documents()),
        "links": links,
        "queued": queued,
        "undecided": verdicts.pop("undecided", 0),
        "decisions": len(standing.list_holding()),
        "undone": sum(each.verdict == "undo" for each in decisions),
        "missed_mentions": len(standing.list_missed()),
        "seconds": round(sum(each.seconds for each in decisions), 1),
        "verdicts": dict(sorted(verdicts.items())),
        "reviewers": dict(sorted(reviewers.items())),
        "missing": list(desk.facts.missing),
        "facts": desk.facts.model_dump(exclude={"missing"}),
    }
