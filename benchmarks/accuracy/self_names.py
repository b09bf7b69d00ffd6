"""Check that pipelines link the names of their knowledge base to the concepts that have them.

A name is checked if only one concept has it, or if it decides between vocabularies (see `onym.kb.order`). `preferred_pct` and
`synonym_pct` are the percentages of names, given as mentions without context, that are linked to their concept.
`median_confidence` is that of terms. `detected_pct` is the percentage of preferred names in a sentence that are detected and
linked to their concept; `undetected` counts the others by the reason why the detector rejected them. By default the starter and
exact match over its knowledge base are checked; `--pipeline` checks a pipeline (folder or name), and `--kb` with `--model` a
reranker over a knowledge base.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from onym.evaluate.own_names import KINDS, OwnName, as_document, check_names, sample_names
from onym.kb import KnowledgeBase
from onym.kb.ranking import select_concepts
from onym.methods import linker_config, open_linker
from onym.methods.dictionary.detector import DictionaryDetector
from onym.packs import load
from onym.pipeline.pipeline import Pipeline

LOWER_BOUNDS = {"lowest_preferred_pct": 99.9, "lowest_synonym_pct": 99.5}
_BEFORE, _AFTER = "The study was about ", " in adults."
_EXAMPLES = 30


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pipeline", action="append", default=[], help="folder or name of a pipeline; may be repeated")
    parser.add_argument("--kb", type=Path, help="knowledge base of --model; without --model, of exact match")
    parser.add_argument("--model", help="folder of a reranker over --kb")
    parser.add_argument("--prefer", default="", help="vocabulary that comes first in --kb")
    parser.add_argument("--names", type=int, default=0, help="names of each kind; by default 5,000, or 300 with --quick")


def run(options: argparse.Namespace) -> dict[str, object]:
    count = options.names or (300 if options.quick else 5_000)
    rows = [_row(name, pipeline, count) for name, pipeline in _pipelines(options)]
    lowest = {f"lowest_{kind}_pct": min(float(str(row[f"{kind}_pct"])) for row in rows) for kind in KINDS}
    return {"names": count, **lowest, "rows": rows}


def _pipelines(options: argparse.Namespace) -> Iterator[tuple[str, Pipeline]]:
    for name in options.pipeline:
        yield name, load(name)
    if options.kb:
        kb = KnowledgeBase.open(options.kb, prefer=[options.prefer] if options.prefer else [])
        config = (
            linker_config("rerank", model=options.model, follow_annotations=False) if options.model else linker_config("exact")
        )
        yield f"dictionary + {config.kind}", Pipeline(open_linker(config, kb), DictionaryDetector(kb))
    if not options.pipeline and not options.kb:
        starter = load("starter")
        yield "starter", starter
        yield "dictionary + exact", Pipeline(open_linker(linker_config("exact"), starter.kb), DictionaryDetector(starter.kb))


def _row(name: str, pipeline: Pipeline, count: int) -> dict[str, object]:
    report = check_names(pipeline, count)
    only = select_concepts(pipeline.kb, pipeline.options)
    in_text = sample_names(pipeline.kb, "preferred", count // 5, only=only)
    percent = {f"{kind}_pct": round(report.percent(kind) or 0.0, 2) for kind in KINDS}
    return {
        "pipeline": name,
        **percent,
        "median_confidence": report.median_confidence,
        "exceptions": dict(Counter(f"{each.name.kind}: {each.cause}" for each in report.exceptions)),
        "examples": [each.as_dict() for each in report.exceptions[:_EXAMPLES]],
        **(_in_sentences(pipeline, in_text) if pipeline.detector else {}),
    }


def _in_sentences(pipeline: Pipeline, names: list[OwnName]) -> dict[str, object]:
    """Return the share of names that are found in a sentence and linked to their concept, and the reasons for the others."""
    found, reasons = 0, Counter[str]()
    for name in names:
        text = f"{_BEFORE}{name.form}{_AFTER}"
        [mention] = as_document(name, _BEFORE, _AFTER).mentions
        linked = pipeline.link(text)
        links = [link for link in linked.links if (link.mention.start, link.mention.end) == (mention.start, mention.end)]
        if links and links[0].concept_id == pipeline.kb.concept_ids[name.concept]:
            found += 1
        elif links:
            reasons[links[0].nil_reason or "other-concept"] += 1
        else:
            whole = [
                each for each in pipeline.explain(text).rejections if each.start == mention.start and each.end == mention.end
            ]
            reasons[whole[0].reason if whole else "another span or none"] += 1
    return {"in_sentences": len(names), "detected_pct": round(100 * found / len(names), 1), "undetected": dict(reasons)}
