"""Predict a split with a model, and store the predictions as a row of results/.

    python -m benchmarks.results.predict generative --dataset ncbi_disease --stage finetuned --model ncbi-finetuned \\
        --search exact --ranking sum --split test --trained-on train
    python -m benchmarks.results.predict dense --dataset hpo_gsc --stage start --model model:minilm \\
        --search flat --ranking own

A model is a folder in `ONYM_RUNS` (by default `~/.cache/onym/runs`), or `model:NAME` for an off-the-shelf model. Its base model
and training hours are read from its training record; its recipe has the same name as the model.

In bf16, scores depend slightly on the other mentions of the batch, which can change the beam. Each split is therefore linked in
fixed parts, so that any part can be linked again with the same result.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.bare import bare_pipeline
from benchmarks.models import model_folder
from benchmarks.report import machine
from benchmarks.results.page import Section
from benchmarks.results.store import Curve, Row, Store, file_of, judge, p_value, shorten_scores, stage_before
from benchmarks.results.tasks import SPLITS, Task, open_task
from onym.methods.base import Linker
from onym.outputs.predictions import Prediction, Predictions, predictions_of
from onym.pipeline import Pipeline
from onym.train.card import RECORD
from onym.train.stages import runs_folder
from onym.types import Document

ROOT = Path(__file__).parents[2]
SECTIONS = ("generative", "dense")
PART = 128
"""Minimum number of mentions per part; documents are not split."""
_OFF_THE_SHELF = "model:"


def main(arguments: list[str], store: Store | None = None) -> int:
    options = _parser().parse_args(arguments)
    section = find_section(options.section)
    store = store or section.store
    folder = folder_of(options.model)
    trained = record_of(folder)
    key = options.row or default_key(options, section, trained["first_start"])
    _require(options, section, store, key)
    task = open_task(options.dataset, options.split)
    linker = section.open(folder, task.kb, options.search, options.ranking)
    made = predict_task(linker, task, section.answers(task.kb))
    predictions = Predictions.of(shorten_scores(made), made.source)  # score the rounded values, because only these are stored
    judged = judge(task, predictions)
    row = Row(
        row=key,
        dataset=options.dataset,
        stage=options.stage,
        search=options.search,
        ranking=options.ranking,
        split=options.split,
        trained_on=options.trained_on,
        model=trained["first_start"],
        parameters=linker.config["parameters"],
        hours=trained["hours_in_all"],
        machine=options.machine or f"{machine()['cpu']}, {machine()['cores']} cores",
        weights=linker.config["weights"],
        config=recipe_of(options.section, options.model),
        model_folder=options.model,
        file=file_of(key),
        figures=judged.figures,
        slices=judged.slices,
    )
    if before := stage_before(row, store.rows(), section.stages):
        row = replace(row, before=before.row, p=p_value(judged, judge(task, store.predictions(before))))
    store.add(row, predictions)
    if curve := curve_of(folder):
        store.add_curve(folder.name, curve)
    print(json.dumps({"row": key, "figures": row.figures, "before": row.before, "p": row.p}))
    return 0


def find_section(name: str) -> Section:
    """Return a section of the results page."""
    section: Section = import_module(f"benchmarks.results.{name}_results").SECTION
    return section


def folder_of(model: str) -> Path:
    """Return the folder of a model named in a row."""
    if model.startswith(_OFF_THE_SHELF):
        return model_folder(model.removeprefix(_OFF_THE_SHELF))
    return runs_folder() / model


def predict_task(linker: Linker, task: Task, top_k: int) -> Predictions:
    """Return a linker's predictions for all mentions of a task."""
    dataset = {"name": task.dataset.name, "digest": task.dataset.digest, "split": task.split}
    pipeline = bare_pipeline(linker, top_k)
    answers = (one for part in parts(task.dataset.documents(task.split)) for one in predict_part(pipeline, part))
    return Predictions.of(answers, {**pipeline.source(), "dataset": dataset})


def predict_part(pipeline: Pipeline, part: list[Document]) -> Iterator[Prediction]:
    """Yield the predictions for the mentions of one part."""
    return (one for one in predictions_of(pipeline.link_many(part)) if isinstance(one, Prediction))


def parts(documents: Iterable[Document], mentions: int = PART) -> Iterator[list[Document]]:
    """Split documents into parts of at least `mentions` mentions; the last part may have fewer."""
    part: list[Document] = []
    count = 0
    for doc in documents:
        part.append(doc)
        count += len(doc.mentions)
        if count >= mentions:
            yield part
            part, count = [], 0
    if part:
        yield part


def record_of(folder: Path) -> dict[str, Any]:
    """Return the training record of a model; a model without a record is its own base model."""
    path = folder / RECORD
    found: dict[str, Any] = (
        json.loads(path.read_bytes()) if path.is_file() else {"first_start": folder.name, "hours_in_all": 0.0}
    )
    return found


def default_key(options: argparse.Namespace, section: Section, start: str) -> str:
    """Return the default key of a row; it names the base model only if that is not the section's usual one."""
    start = "" if start == section.usual_start else f"{start}-"
    more = f"{'' if options.trained_on == 'train' else '-with-dev'}{'' if options.split == 'test' else '-on-dev'}"
    return f"{options.dataset}/{options.stage}/{start}{options.search}-{options.ranking}{more}"


def curve_of(folder: Path) -> Curve:
    """Return the dev scores during training, from the model's log."""
    log = folder / "log.jsonl"
    entries = [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.is_file() else []
    return [[entry["step"], entry["eval_dev_r1"], entry["eval_dev_r5"]] for entry in entries if "eval_dev_r1" in entry]


def recipe_of(section: str, model: str) -> str:
    """Return the path of a model's training recipe, relative to the project root; empty for off-the-shelf models."""
    return "" if model.startswith(_OFF_THE_SHELF) else f"benchmarks/recipes/{section}/{model}.toml"


def _require(options: argparse.Namespace, section: Section, store: Store, key: str) -> None:
    """Exit early if the options are invalid or the row already exists."""
    for what, known in (
        ("dataset", section.keys),
        ("stage", section.stages),
        ("search", section.searches),
        ("ranking", section.rankings),
    ):
        if (value := getattr(options, what)) not in known:
            sys.exit(f"--{what} {value} is not one of {', '.join(known)}")
    if options.split == "dev" and options.trained_on == "train+dev":
        sys.exit("a model trained on dev cannot be evaluated on dev; use --split test")
    if any(row.row == key for row in store.rows()) and not options.force:
        sys.exit(f"row {key} exists; add --force to replace it")
    if (recipe := recipe_of(options.section, options.model)) and not (ROOT / recipe).is_file():
        sys.exit(f"{recipe} is missing; every row needs a recipe to retrain its model")
    file_of(key)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.results.predict",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("section", choices=SECTIONS, help="kind of linker")
    parser.add_argument("--row", default="", help="key of the row; by default derived from the other options")
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--stage", required=True, help="last training stage of the model")
    parser.add_argument("--model", required=True, help="model folder in ONYM_RUNS, or model:NAME")
    parser.add_argument("--search", required=True)
    parser.add_argument("--ranking", required=True)
    parser.add_argument("--split", default="test", choices=SPLITS)
    parser.add_argument("--trained-on", default="train", choices=("train", "train+dev"))
    parser.add_argument("--machine", default="", help="machine that the model was trained on; by default this one")
    parser.add_argument("--force", action="store_true", help="replace an existing row with the same key")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
