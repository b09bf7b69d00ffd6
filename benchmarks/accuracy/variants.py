"""Measure the variant detector and the variant linker on tmVar 3 and BioRED.

strict_f1       F1 of detected spans with equal offsets, in percent; also precision and recall
lenient_f1      likewise, where a span counts as found if it overlaps one
rs_accuracy     share of the gold mentions with an rs id that are linked to it; `rs_stated` is the share among mentions whose
                rs number is in the text, because patterns cannot know the others
form_accuracy   share of the gold mentions with a change at a position whose HGVS form is the gold one; `form_any_level` ignores
                whether bases are numbered as coding (c.) or as genomic (g.), which texts without prefix leave open
id_accuracy     share of all gold mentions with an id whose best id is the gold one, an rs id or a form
documents_per_core_second  speed of detection and linking together

Patterns were developed on the train splits of tmVar 3 and of BioRED.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from benchmarks.report import data_folder, percent
from onym.datasets.prepared import open_dataset
from onym.methods.variants.detector import VariantsDetector
from onym.methods.variants.forms import DBSNP, HGVS, SequenceVariant, from_tmvar
from onym.methods.variants.naming import is_variant_type, name_variants
from onym.types import Document, Mention, Offsets

LOWER_BOUNDS = {"tmvar_train_strict_f1": 85.0, "biored_train_strict_f1": 90.0}
_SPLITS = {"tmvar": ("train", "test"), "biored": ("train", "dev", "test")}
_TMVAR = "tmvar:"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--split", action="append", help="only these splits; may be repeated")


def run(options: argparse.Namespace) -> dict[str, object]:
    """Measure all splits; with `--quick`, the train splits."""
    wanted = ["train"] if options.quick else options.split
    found: dict[str, object] = {}
    for name, splits in _SPLITS.items():
        for split in splits:
            if not wanted or split in wanted:
                documents = [_variants_of(doc) for doc in open_dataset(name, data_folder()).documents(split)]
                figures = {**measure_spans(documents), **measure_ids(documents)}
                found |= {f"{name}_{split}_strict_f1": figures["strict_f1"], f"{name}_{split}": figures}
    return found


def _variants_of(doc: Document) -> Document:
    return replace(doc, mentions=tuple(each for each in doc.mentions if each.type and is_variant_type(each.type)), relations=())


def measure_spans(documents: Sequence[Document]) -> dict[str, float]:
    """Return precision, recall and F1 of detected spans, and the speed of detection and linking."""
    detector = VariantsDetector()
    before = time.process_time()
    detected = [found.document for found in detector.detect(documents)]
    for doc in detected:
        name_variants(doc)
    took = time.process_time() - before
    pairs = [(_spans(doc.mentions), _spans(gold.mentions)) for doc, gold in zip(detected, documents, strict=True)]
    count = Counter[str]()
    for found, gold in pairs:
        count["found"] += len(found)
        count["gold"] += len(gold)
        count["same"] += len(found & gold)
        count["found_over"] += sum(_overlaps(each, gold) for each in found)
        count["gold_over"] += sum(_overlaps(each, found) for each in gold)
    strict = _scores(count["same"], count["same"], count)
    lenient = _scores(count["found_over"], count["gold_over"], count)
    speed = {"documents_per_core_second": round(len(documents) / took, 1)}
    size = {"documents": len(documents), "mentions": count["gold"]}
    return size | _prefix("strict", strict) | _prefix("lenient", lenient) | speed


def _spans(mentions: Iterable[Mention]) -> set[Offsets]:
    return {(each.start, each.end) for each in mentions}


def _overlaps(span: Offsets, others: Iterable[Offsets]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in others)


def _scores(right: int, reached: int, count: Counter[str]) -> dict[str, float]:
    precision, recall = right / max(1, count["found"]), reached / max(1, count["gold"])
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    return {name: round(100 * value, 1) for name, value in (("precision", precision), ("recall", recall), ("f1", f1))}


def _prefix(word: str, figures: dict[str, float]) -> dict[str, float]:
    return {f"{word}_{name}": value for name, value in figures.items()}


def measure_ids(documents: Iterable[Document]) -> dict[str, float]:
    """Return the accuracy of the ids of gold mentions."""
    count = Counter[str]()
    for doc in documents:
        bare = replace(doc, mentions=tuple(replace(each, concept_ids=()) for each in doc.mentions))
        for mention, candidates in zip(doc.mentions, name_variants(bare), strict=True):
            _count_ids(count, doc, mention, [each.concept_id for each in candidates])
    return {
        "rs_mentions": count["rs"],
        "rs_accuracy": percent(count["rs_right"], count["rs"]),
        "rs_stated_mentions": count["stated"],
        "rs_stated": percent(count["stated_right"], count["stated"]),
        "form_mentions": count["form"],
        "form_accuracy": percent(count["form_right"], count["form"]),
        "form_any_level": percent(count["form_any"], count["form"]),
        "id_mentions": count["ids"],
        "id_accuracy": percent(count["ids_right"], count["ids"]),
    }


def _count_ids(count: Counter[str], doc: Document, mention: Mention, answers: Sequence[str]) -> None:
    gold_rs = {each for each in mention.concept_ids if each.startswith(f"{DBSNP}:")}
    form = _gold_form(mention)
    own = next((each for each in answers if each.startswith(f"{HGVS}:")), "").removeprefix(f"{HGVS}:")
    if gold_rs:
        is_right = bool(answers) and answers[0] in gold_rs
        is_stated = any(each.partition(":")[2] in doc.text.lower() for each in gold_rs)
        count.update(rs=1, rs_right=is_right, stated=is_stated, stated_right=is_stated and is_right)
    if form is not None and form.hgvs:
        any_level = own[:1] != "p" and form.level != "p" and own[1:] == form.hgvs[1:]
        count.update(form=1, form_right=own == form.hgvs, form_any=own == form.hgvs or any_level)
    if gold_rs or form is not None:
        right = bool(answers) and (answers[0] in gold_rs or (not gold_rs and form is not None and own == form.hgvs != ""))
        count.update(ids=1, ids_right=right)


def _gold_form(mention: Mention) -> SequenceVariant | None:
    """Return the annotated change: tmVar 3 has it beside the rs id."""
    noted = dict(mention.notes).get("ids", "")
    texts = [each.removeprefix(_TMVAR) for each in mention.concept_ids if each.startswith(_TMVAR)]
    return next(filter(None, map(from_tmvar, [*texts, noted])), None)
