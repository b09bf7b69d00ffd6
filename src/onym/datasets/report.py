"""The report on a prepared dataset: counts, KB coverage and overlap, as a dict for `report.json` and rows for the terminal."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from onym.corpora.base import PART_OF
from onym.datasets.base import SPLITS, Dataset, DropCounts
from onym.datasets.overlap import TrainOverlap
from onym.kb import KnowledgeBase
from onym.types import Document, Mention

Report = dict[str, Any]
_COUNTED = ("documents", "mentions", "queries")
_OVERLAP_LABELS = {
    "same_span": "same document and offsets",
    "same_surface_and_ids": "same surface and ids",
    "kb_name": "a name of a gold concept",
}


class KbCoverage:
    """Checks whether gold mentions are in a knowledge base. Lookups are cached, because ids and surfaces repeat.

    >>> coverage = KbCoverage(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> mention = Mention(0, 8, "pyrexias", ("mesh:D005334",))
    >>> coverage.is_in_kb(mention), coverage.is_kb_name(mention)
    (True, False)
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self._concepts_by_id: dict[str, frozenset[int]] = {}
        self._concepts_by_surface: dict[str, frozenset[int]] = {}

    def is_in_kb(self, mention: Mention) -> bool:
        """Return whether every gold id is in the KB."""
        return all(self._concepts_with_id(concept_id) for concept_id in mention.concept_ids)

    def is_kb_name(self, mention: Mention) -> bool:
        """Return whether the normalised surface is a name of a concept that has one of the gold ids."""
        named = self._concepts_by_surface.get(mention.surface)
        if named is None:
            named = self._concepts_by_surface[mention.surface] = frozenset(self.kb.concepts_named(mention.surface))
        return any(named & self._concepts_with_id(concept_id) for concept_id in mention.concept_ids)

    def _concepts_with_id(self, concept_id: str) -> frozenset[int]:
        concepts = self._concepts_by_id.get(concept_id)
        if concepts is None:
            concepts = self._concepts_by_id[concept_id] = frozenset(self.kb.concepts_with_id(concept_id))
        return concepts


@dataclass
class SplitCounts:
    """Counts of one split. A composite that was split into parts counts as several mentions but as one query."""

    documents: int = 0
    mentions: int = 0
    queries: int = 0
    in_kb: int = 0
    kb_name: int = 0


@dataclass
class Counts:
    """Counts by split, with the overlap with train and the coverage by a knowledge base."""

    coverage: KbCoverage | None = None
    overlap: TrainOverlap = field(default_factory=TrainOverlap)
    splits: dict[str, SplitCounts] = field(default_factory=dict)

    def add(self, split: str, document: Document) -> None:
        """Count one document."""
        count = self.splits.setdefault(split, SplitCounts())
        count.documents += 1
        count.mentions += len(document.mentions)
        parts = [dict(mention.notes).get(PART_OF) for mention in document.mentions]
        count.queries += parts.count(None) + len(set(parts) - {None})
        if self.coverage:
            count.in_kb += sum(map(self.coverage.is_in_kb, document.mentions))
            count.kb_name += sum(map(self.coverage.is_kb_name, document.mentions))
        self.overlap.add(split, document)


def report_of(dataset: Dataset, counts: Counts, drops: DropCounts, *, is_own: bool) -> Report:
    """Return the report on a prepared dataset. Figures that need a knowledge base are omitted if there is none."""
    report: Report = {
        "name": dataset.name,
        "title": dataset.title,
        "protocol": dataset.protocol,
        "licence": dataset.licence,
        "restricts_types": dataset.restricts_types,
        "kb": _kb(dataset, counts.coverage, is_own=is_own),
        "splits": {split: _split(split, counts, drops) for split in SPLITS if split in counts.splits},
        "overlap": _overlap(counts),
    }
    return report | {"warnings": warnings_of(report)}


def warnings_of(report: Report) -> list[str]:
    """Return a warning for dev, and one for test, if the split contains mentions of train.

    >>> overlap = {"dev in train": {"mentions": 4, "same_span": 3, "same_surface_and_ids": 3}}
    >>> warnings_of({"overlap": overlap})[0][:37]
    'OVERLAP: 3 of 4 dev mentions (75.0 %)'
    """
    warnings = []
    for split in ("dev", "test"):
        overlap = report["overlap"].get(f"{split} in train")
        if overlap and overlap["same_span"]:
            count, percent = _share(overlap["same_span"], overlap["mentions"])
            where = "are in train too, in the same document at the same offsets"
            warnings.append(f"OVERLAP: {count} {split} mentions ({percent}) {where}: do not trust a score on {split}.")
    return warnings


def rows_of(report: Report) -> list[tuple[str, ...]]:
    """Return the report as rows for the terminal. The first cell of each row is its label."""
    splits = {split: report["splits"][split] for split in SPLITS if split in report["splits"]}
    rows = [("split", *_split_cells(split, values)) for split, values in splits.items()]
    for key in ("dropped", "problems"):
        for split, values in splits.items():
            rows += [(key, split, f"{reason}: {count:,}") for reason, count in values[key].items()]
    rows += [("intended kb", report["kb"]["intended"]), ("kb", *_kb_cells(report["kb"]))]
    rows.append(("types", "candidates are restricted to the gold type" if report["restricts_types"] else "not restricted"))
    rows.append(("protocol", report["protocol"]))
    rows += [("overlap", name, *_overlap_cells(values)) for name, values in report["overlap"].items()]
    return rows + [(warning,) for warning in report["warnings"]]


def _kb(dataset: Dataset, coverage: KbCoverage | None, *, is_own: bool) -> Report:
    if coverage is None:
        return {"intended": dataset.kb, "digest": "", "is_own": False}
    kb = coverage.kb
    return {"intended": dataset.kb, "digest": kb.digest, "is_own": is_own, "concepts": len(kb), "names": len(kb.names)}


def _kb_cells(kb: Report) -> tuple[str, ...]:
    if not kb["digest"]:
        return ("none given: coverage not computed",)
    origin = "the dataset's own dictionary" if kb["is_own"] else "--kb"
    return origin, f"digest {kb['digest']}", f"{kb['concepts']:,} concepts", f"{kb['names']:,} names"


def _split(split: str, counts: Counts, drops: DropCounts) -> Report:
    count = asdict(counts.splits[split])
    keys = (*_COUNTED, "in_kb") if counts.coverage else _COUNTED
    lost = {"dropped": _plain(drops.dropped[split]), "problems": _plain(drops.problems[split])}
    return {key: count[key] for key in keys} | lost


def _overlap(counts: Counts) -> Report:
    overlap: Report = {f"{split} in train": asdict(each) for split, each in counts.overlap.splits.items()}
    if counts.coverage and "test" in counts.splits:
        test = counts.splits["test"]
        overlap["test in kb"] = {"mentions": test.mentions, "kb_name": test.kb_name}
    return overlap


def _split_cells(split: str, values: Report) -> list[str]:
    cells = [split, f"{values['documents']:,} documents", f"{values['mentions']:,} mentions"]
    if values["queries"] != values["mentions"]:
        cells.append(f"{values['queries']:,} queries")
    if "in_kb" in values:
        cells.append(f"{values['in_kb']:,} in the KB ({_share(values['in_kb'], values['mentions'])[1]})")
    return cells


def _overlap_cells(values: Report) -> list[str]:
    cells = []
    for key, label in _OVERLAP_LABELS.items():
        if key in values:
            count, percent = _share(values[key], values["mentions"])
            cells.append(f"{label}: {count} ({percent})")
    return cells


def _share(part: int, whole: int) -> tuple[str, str]:
    return f"{part:,} of {whole:,}", f"{100 * part / whole:.1f} %" if whole else "-"


def _plain(counts: Counter[str]) -> dict[str, int]:
    return {reason: count for reason, count in sorted(counts.items()) if count}
