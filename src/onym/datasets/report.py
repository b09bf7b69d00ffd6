"""What a preparation states: as plain values for `report.json`, and as rows for people."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from onym.corpora.base import PART_OF
from onym.datasets.base import SPLITS, Benchmark
from onym.datasets.leak import Leaks
from onym.datasets.reach import Reach
from onym.datasets.tally import Tally
from onym.types import Document

Report = dict[str, Any]
_COUNTED = ("documents", "mentions", "queries")


@dataclass
class Count:
    """What a split holds. The parts of one composite are several mentions but one query."""

    documents: int = 0
    mentions: int = 0
    queries: int = 0
    reachable: int = 0
    named: int = 0


@dataclass
class Counts:
    """Counts documents as they pass, and compares them with train and with a knowledge base."""

    reach: Reach | None = None
    leaks: Leaks = field(default_factory=Leaks)
    splits: dict[str, Count] = field(default_factory=dict)

    def take(self, split: str, document: Document) -> None:
        """Count one document."""
        count = self.splits.setdefault(split, Count())
        count.documents += 1
        count.mentions += len(document.mentions)
        parts = [dict(mention.notes).get(PART_OF) for mention in document.mentions]
        count.queries += parts.count(None) + len(set(parts) - {None})
        if self.reach:
            count.reachable += sum(map(self.reach.is_reachable, document.mentions))
            count.named += sum(map(self.reach.is_named, document.mentions))
        self.leaks.take(split, document)


def report_of(benchmark: Benchmark, counts: Counts, tally: Tally, *, is_own: bool) -> Report:
    """Return the report of a preparation; figures that need a knowledge base are left out where there is none."""
    report: Report = {
        "name": benchmark.name,
        "title": benchmark.title,
        "protocol": benchmark.protocol,
        "licence": benchmark.licence,
        "restricts_types": benchmark.restricts_types,
        "kb": _kb(benchmark, counts.reach, is_own=is_own),
        "splits": {split: _split(split, counts, tally) for split in SPLITS if split in counts.splits},
        "leaks": _leaks(counts),
    }
    return report | {"warnings": warnings_of(report)}


def warnings_of(report: Report) -> list[str]:
    """Return a sentence for each split that stands in train by place.

    >>> leaks = {"dev in train": {"mentions": 4, "by_place": 3, "by_pair": 3}}
    >>> warnings_of({"leaks": leaks})[0][:34]
    'LEAK: 3 of 4 dev mentions (75.0 %)'
    """
    found = []
    for split in ("dev", "test"):
        shared = report["leaks"].get(f"{split} in train")
        if shared and shared["by_place"]:
            share = _share(shared["by_place"], shared["mentions"])
            place = "stand in train, in the same document at the same place"
            found.append(f"LEAK: {share[0]} {split} mentions ({share[1]}) {place}: a score on {split} means little.")
    return found


def rows_of(report: Report) -> list[tuple[str, ...]]:
    """Return the report as rows of equal meaning, for people."""
    kb, splits = report["kb"], {split: report["splits"][split] for split in SPLITS if split in report["splits"]}
    rows = [("split", *_split_cells(split, values)) for split, values in splits.items()]
    for key in ("dropped", "problems"):
        for split, values in splits.items():
            rows += [(key, split, f"{reason}: {count:,}") for reason, count in values[key].items()]
    rows.append(("meant for", report["kb"]["meant"]))
    if kb["digest"]:
        whose = "its own, in kb" if kb["is_own"] else "given"
        rows.append(("kb", whose, f"digest {kb['digest']}", f"{kb['concepts']:,} concepts", f"{kb['names']:,} names"))
    else:
        rows.append(("kb", "none is at hand: prepared without its figures"))
    rows.append(("types", "the gold type restricts the candidates" if report["restricts_types"] else "all are candidates"))
    rows.append(("protocol", report["protocol"]))
    rows += [("leak", what, *_leak_cells(values)) for what, values in report["leaks"].items()]
    return rows + [(warning,) for warning in report["warnings"]]


def _kb(benchmark: Benchmark, reach: Reach | None, *, is_own: bool) -> Report:
    if reach is None:
        return {"meant": benchmark.kb, "digest": "", "is_own": False}
    kb = reach.kb
    return {"meant": benchmark.kb, "digest": kb.digest, "is_own": is_own, "concepts": len(kb), "names": len(kb.names)}


def _split(split: str, counts: Counts, tally: Tally) -> Report:
    count = asdict(counts.splits[split])
    wanted = (*_COUNTED, "reachable") if counts.reach else _COUNTED
    lost = {"dropped": _plain(tally.dropped[split]), "problems": _plain(tally.problems[split])}
    return {key: count[key] for key in wanted} | lost


def _leaks(counts: Counts) -> Report:
    leaks: Report = {f"{split} in train": asdict(shared) for split, shared in counts.leaks.shared.items()}
    if counts.reach and "test" in counts.splits:
        test = counts.splits["test"]
        leaks["test in kb"] = {"mentions": test.mentions, "by_name": test.named}
    return leaks


def _split_cells(split: str, values: Report) -> list[str]:
    cells = [split, f"{values['documents']:,} documents", f"{values['mentions']:,} mentions"]
    if values["queries"] != values["mentions"]:
        cells.append(f"{values['queries']:,} queries")
    if "reachable" in values:
        cells.append(f"{values['reachable']:,} reachable ({_share(values['reachable'], values['mentions'])[1]})")
    return cells


def _leak_cells(values: Report) -> list[str]:
    words = {"by_place": "same place", "by_pair": "same words and ids", "by_name": "a name of a gold concept"}
    cells = []
    for key, word in words.items():
        if key in values:
            share = _share(values[key], values["mentions"])
            cells.append(f"{word}: {share[0]} ({share[1]})")
    return cells


def _share(part: int, whole: int) -> tuple[str, str]:
    return f"{part:,} of {whole:,}", f"{100 * part / whole:.1f} %" if whole else "-"


def _plain(counts: Counter[str]) -> dict[str, int]:
    return {reason: count for reason, count in sorted(counts.items()) if count}
