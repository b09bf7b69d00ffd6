"""Predict a split with a trained model, and keep the predictions as a row of results/generative.

    python -m benchmarks.generative_predict --benchmark ncbi_disease --stage finetuned --model ncbi-finetuned \\
        --search exact --ranking sum --split test --trained-on train

The model has to be below `ONYM_RUNS` (by default `~/.cache/onym/runs`), so that it can be found again. What it began with and
the hours of its training are what its own record says; its recipe is the one of its name.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.generative_model import (
    RANKINGS,
    SEARCHES,
    kept_folder,
    open_linker,
    predicted,
    search_config,
)
from benchmarks.generative_page import COMPARED
from benchmarks.generative_tasks import KINDS, SPLITS, task
from benchmarks.report import machine
from benchmarks.results import FOLDER, Curve, Row, Store, file_of, judge, p_value, shortened, stage_before
from onym.linkers.predictions import Predictions
from onym.train.recipes.publish import RECORD
from onym.train.recipes.run import runs_folder

ROOT = Path(__file__).parents[1]


def main(arguments: list[str], store: Store | None = None) -> int:
    options = _parser().parse_args(arguments)
    store = store or Store(FOLDER / "generative")
    key = options.row or default_key(options)
    _require(options, store, key)
    folder = options.model if options.model.is_absolute() else runs_folder() / options.model
    model_folder = kept_folder(folder)
    asked = task(options.benchmark, options.split)
    search = search_config(options.search, options.ranking)
    linker = open_linker(folder, asked.kb, search)
    trained = json.loads((folder / RECORD).read_bytes())
    made = predicted(linker, asked)
    predictions = Predictions.of(shortened(made), made.source)  # what is judged is what is kept
    judged = judge(asked, predictions)
    row = Row(
        row=key,
        benchmark=options.benchmark,
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
        config=recipe_of(options.model),
        model_folder=model_folder,
        file=file_of(key),
        figures=judged.figures,
        slices=judged.slices,
    )
    if before := stage_before(row, store.rows(), COMPARED):
        row = replace(row, before=before.row, p=p_value(judged, judge(asked, store.predictions(before))))
    store.add(row, predictions)
    store.add_curve(folder.name, curve_of(folder))
    print(json.dumps({"row": key, "figures": row.figures, "before": row.before, "p": row.p}))
    return 0


def default_key(options: argparse.Namespace) -> str:
    """Return a key that says what a row is."""
    more = f"{'' if options.trained_on == 'train' else '-with-dev'}{'' if options.split == 'test' else '-on-dev'}"
    return f"{options.benchmark}/{options.stage}/{options.search}-{options.ranking}{more}"


def curve_of(folder: Path) -> Curve:
    """Return the scores on dev while a model was trained, as its own log has them."""
    log = folder / "log.jsonl"
    entries = [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.is_file() else []
    return [[entry["step"], entry["eval_dev_r1"], entry["eval_dev_r5"]] for entry in entries if "eval_dev_r1" in entry]


def recipe_of(model: Path) -> str:
    """Return the recipe that a model was trained by, from the root of the project."""
    return f"benchmarks/recipes/generative/{model.name}.toml"


def _require(options: argparse.Namespace, store: Store, key: str) -> None:
    """Refuse before the work what would spoil the store."""
    if options.split == "dev" and options.trained_on == "train+dev":
        sys.exit("a model that was trained on dev is not judged on it")
    if any(row.row == key for row in store.rows()) and not options.force:
        sys.exit(f"there is a row {key}: add --force to put another in its place")
    if not (ROOT / recipe_of(options.model)).is_file():
        sys.exit(f"there is no {recipe_of(options.model)}: a row has a recipe by which its model can be trained again")
    file_of(key)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.generative_predict",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--row", default="", help="the key of the row; by default made of what it is")
    parser.add_argument("--benchmark", required=True, choices=KINDS)
    parser.add_argument("--stage", required=True, choices=COMPARED, help="the last stage of its training")
    parser.add_argument("--model", required=True, type=Path, help="the model's folder, absolute or below ONYM_RUNS")
    parser.add_argument("--search", required=True, choices=SEARCHES)
    parser.add_argument("--ranking", required=True, choices=RANKINGS)
    parser.add_argument("--split", default="test", choices=SPLITS)
    parser.add_argument("--trained-on", default="train", choices=("train", "train+dev"))
    parser.add_argument("--machine", default="", help="what it was trained on; by default this machine")
    parser.add_argument("--force", action="store_true", help="put the row in the place of one with the same key")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
