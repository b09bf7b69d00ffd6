"""Find and link the mentions of a split, and store the predictions as a row of results/e2e.

    python -m benchmarks.results.e2e_predict --dataset bc5cdr --split dev --detector dictionary --linker exact
    python -m benchmarks.results.e2e_predict --dataset bc5cdr --detector granite-bc5cdr-spans --linker cascade \\
        --encoder minilm-aligned --model bc5cdr-preferred

A detector is `dictionary`, a model folder in `ONYM_RUNS` (a large detector or a student, which finds names of the dictionary
too if there is a classifier), or `gold` (the gold mentions, without their ids). Linkers have the
names that `onym link` uses; their models are folders in `ONYM_RUNS`, or `model:NAME` for an off-the-shelf model.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.report import machine
from benchmarks.results.e2e_tasks import JOINED, KINDS, OPEN, EndToEndTask, end_to_end_task, judge_annotated, judge_found
from benchmarks.results.predict import folder_of, record_of
from benchmarks.results.store import FOLDER, Figures, Row, Store, file_of, shorten_scores
from benchmarks.results.tasks import SPLITS
from onym.methods import detector_config, linker_config, open_detector, open_linker
from onym.methods.collective.model import Collective
from onym.methods.detector import Detector
from onym.methods.dictionary import detector as dictionary
from onym.methods.dictionary.classifier import open_classifier
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.student.network import FOLDER as STUDENT_WEIGHTS
from onym.methods.tagger import detector as model
from onym.methods.tagger.detector import detector_of
from onym.outputs.predictions import Predictions, predictions_of
from onym.pipeline import Pipeline, PipelineOptions
from onym.registry import LINKERS
from onym.store.models import folder_digest
from onym.types import Document, Mention

STORE = Store(FOLDER / "e2e")
DICTIONARY, ANNOTATED, STUDENT, COMPETE = "dictionary", "gold", "student", "others_compete"
_RANKED = 10  # concepts stored per gold mention
_PARTS = ("detector", "classifier", "encoder", "model")
FORMS = ("inflections", "reordered")  # name variants for the dictionary and exact match
_CHOICES = ("kb", "convention", "types", *FORMS)
_CANDIDATES = 2  # candidates stored per detected mention: two, because calibration uses the margin between their scores


def main(arguments: list[str], store: Store = STORE) -> int:
    options = _parser().parse_args(arguments)
    key = key_of(options)
    if any(row.row == key for row in store.rows()) and not options.force:
        sys.exit(f"row {key} exists; add --force to replace it")
    task = end_to_end_task(options.dataset, options.split, options.kb)
    described = {name: getattr(options, name) for name in ("linker", *_PARTS, *_CHOICES) if getattr(options, name)}
    described |= {COMPETE: True, "candidates": _CANDIDATES}
    if options.kb == OPEN:
        del described["kb"]
    system = open_system(described, task)
    started = time.perf_counter()
    made = predict_with(system, task)
    seconds = time.perf_counter() - started
    predictions = Predictions.of(shorten_scores(made), made.source)  # score the rounded values, because only these are stored
    folders = {
        name: folder_of(described[name]) for name in _PARTS if described.get(name, ANNOTATED) not in (DICTIONARY, ANNOTATED)
    }
    records = {folder.name: record_of(folder) for folder in folders.values()}
    row = Row(
        row=key,
        dataset=options.dataset,
        stage="+".join(parts_of(options)),
        search=detector_name(described["detector"]),
        ranking=options.linker,
        split=options.split,
        trained_on=options.trained_on,
        model=", ".join(display_name(name, record.get("first_start", name)) for name, record in records.items()),
        parameters=sum(models_in(predictions.source).values()),
        hours=round(sum(record.get("hours_in_all", 0.0) for record in records.values()), 3),
        machine=f"{machine()['cpu']}, {machine()['cores']} cores",
        weights=weights_of(folders),
        config="",
        model_folder=json.dumps(described, sort_keys=True),
        file=file_of(key),
        figures=figures_of(described["detector"], task, predictions),
        documents_per_s=round(len(task.documents) / seconds, 1),
    )
    store.add(row, predictions)
    print(json.dumps({"row": key, "figures": row.figures}))
    return 0


def task_of(row: Row) -> EndToEndTask:
    """Open the task of a row."""
    return end_to_end_task(row.dataset, row.split, json.loads(row.model_folder).get("kb", OPEN))


def key_of(options: argparse.Namespace) -> str:
    """Return the key of a row: dataset, system and split."""
    more = f"{'' if options.trained_on == 'train' else '-with-dev'}{'' if options.split == 'test' else '-on-dev'}"
    return f"{options.dataset}/{'+'.join(parts_of(options))}{more}"


def parts_of(options: argparse.Namespace) -> list[str]:
    """Return the components of a system by name."""
    base = "" if options.kb == OPEN else options.kb
    forms = [form for form in FORMS if getattr(options, form)]
    models = (options.linker, options.encoder, options.model)
    parts = (base, options.detector, options.classifier, options.convention, *forms, *models)
    return [part.removeprefix("model:") for part in parts if part]


def display_name(name: str, start: str) -> str:
    """Return the display name of a model in tables.

    >>> display_name("minilm", "minilm"), display_name("minilm-aligned", "minilm")
    ('minilm', 'minilm-aligned (from minilm)')
    """
    return name if name == start else f"{name} (from {start})"


def figures_of(detector: str, task: EndToEndTask, predictions: Predictions) -> Figures:
    """Score the mentions that a system found, or its ranking of gold mentions."""
    return (judge_annotated if detector == ANNOTATED else judge_found)(task, predictions)


def open_system(described: dict[str, Any], task: EndToEndTask) -> Pipeline:
    """Open a detector and a linker; if both use the same model, each document is encoded once."""
    own: dict[str, Any] = {name: folder_of(described[name]) for name in ("encoder", "model") if name in described}
    if described["linker"] == "rerank":
        own["follow_annotations"] = True
    if described["linker"] == "exact":
        own |= {form: described[form] for form in FORMS if form in described}
    linker = open_linker(linker_config(described["linker"], **own), task.kb)
    restrict = not described.get(COMPETE, False)  # false if the key is missing: older rows ignored concepts outside `only`
    if described["detector"] == ANNOTATED:
        return Pipeline(linker, options=PipelineOptions(restrict=restrict, top_k=_RANKED), only=task.only)
    detector = _detector(described, task, getattr(linker, "model", None))
    options = PipelineOptions(restrict=restrict, threshold=described.get("threshold"), top_k=described.get("candidates", 1))
    return Pipeline(linker, detector, options, only=task.only)


def _detector(described: dict[str, Any], task: EndToEndTask, shared: object) -> Detector:
    """Open a detector; `shared` is the linker's model."""
    if described["detector"] == DICTIONARY:
        own: dict[str, Any] = {name: described[name] for name in ("types", "convention", *FORMS) if name in described}
        config = dictionary.DictionaryDetectorConfig.of(own)
        classifier = open_classifier(folder_of(described["classifier"])) if "classifier" in described else None
        return DictionaryDetector(task.kb, config, only=task.only, classifier=classifier)
    if isinstance(shared, Collective) and described.get("model") == described["detector"]:
        return detector_of(shared)
    if (folder_of(described["detector"]) / STUDENT_WEIGHTS).is_dir():
        return _student(described, task)
    wanted = model.ModelDetectorConfig(types=described.get("types"), convention=described.get("convention", ""))
    return detector_of(Collective.open(folder_of(described["detector"])), wanted)


def _student(described: dict[str, Any], task: EndToEndTask) -> Detector:
    """Open a student, with a classifier of names if there is one."""
    own = {name: described[name] for name in ("types", "convention") if name in described}
    folders = {"model": described["detector"], "classifier": described.get("classifier")}
    models = {name: str(folder_of(folder)) for name, folder in folders.items() if folder}
    return open_detector(detector_config("student", **own, **models), task.kb, only=task.only)


def predict_with(system: Pipeline, task: EndToEndTask, documents: int | None = None) -> Predictions:
    """Return the predictions of a system on the raw text of a task, or for its gold mentions, in the first `documents`."""
    read = task.documents[:documents]
    is_annotated = system.detector is None
    bare = [
        Document(doc.id, doc.text, _drop_answers(doc.mentions) if is_annotated else (), source=doc.source, ordinal=doc.ordinal)
        for doc in read
    ]
    return Predictions.of(predictions_of(system.link_many(bare)), {**system.source(), "dataset": task.source})


def _drop_answers(mentions: Sequence[Mention]) -> tuple[Mention, ...]:
    return tuple(replace(mention, concept_ids=()) for mention in mentions)


def detector_name(detector: str) -> str:
    """Return the display name of a detector: `dictionary`, `gold`, `student`, or the method of a large model."""
    if detector in (DICTIONARY, ANNOTATED):
        return detector
    if detector.startswith(STUDENT):
        return STUDENT
    return "tags" if "tags" in detector else "spans"


def weights_of(folders: dict[str, Path]) -> str:
    """Return a digest of all models of a system."""
    digests = {name: folder_digest(folder) for name, folder in folders.items()}
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()[:16]


def models_in(value: Any) -> dict[str, int]:
    """Return the distinct models of a description: digest and number of parameters.

    >>> models_in({"linker": {"weights": "ab", "parameters": 3}, "detector": [{"digest": "cd", "parameters": 4}]})
    {'ab': 3, 'cd': 4}
    """
    if isinstance(value, list):
        return {name: count for inner in value for name, count in models_in(inner).items()}
    if not isinstance(value, dict):
        return {}
    own = {value.get("digest") or value["weights"]: value["parameters"]} if "parameters" in value else {}
    return own | models_in(list(value.values()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.results.e2e_predict",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dataset", required=True, choices=tuple(KINDS))
    parser.add_argument("--split", default="test", choices=SPLITS)
    parser.add_argument("--detector", default=DICTIONARY, help="dictionary, gold, or a model folder in ONYM_RUNS")
    parser.add_argument("--linker", default="exact", choices=LINKERS.names)
    parser.add_argument("--kb", default=OPEN, choices=(OPEN, JOINED), help="recipe of the knowledge base")
    parser.add_argument("--classifier", default="", help="for the dictionary and students: a classifier folder in ONYM_RUNS")
    parser.add_argument("--convention", default="", help="corpus whose annotation convention the detector follows")
    parser.add_argument("--types", default="", help="comma-separated types to detect")
    parser.add_argument(
        "--inflections", action="store_true", help="for dictionary and exact match: also match singular and plural forms"
    )
    parser.add_argument("--reordered", action="store_true", help="for dictionary and exact match: also match reordered words")
    parser.add_argument("--encoder", default="", help="for a cascade: model of the dense linker")
    parser.add_argument("--model", default="", help="model of the linker")
    parser.add_argument("--trained-on", default="train", choices=("train", "train+dev"))
    parser.add_argument("--force", action="store_true", help="replace an existing row with the same key")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
