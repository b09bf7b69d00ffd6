"""Retrain a model of the results page by the name of its recipe in benchmarks/recipes.

    python -m benchmarks.results.train ncbi-finetuned

In a recipe, `model:NAME` is a pretrained model, `run:NAME` a model trained earlier, and `kb:NAME` a knowledge base; they are
located, downloaded or built as needed. `like` names a base recipe whose values are inherited. The rest is the configuration
of `onym train STAGE --config`.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.models import model_folder
from benchmarks.report import data_folder
from benchmarks.results.tasks import medic_kb, open_kb, open_task
from onym.config import read_toml
from onym.kb import KnowledgeBase
from onym.train.configs import MODEL_CONFIGS, ModelConfig
from onym.train.run import train
from onym.train.stages import merge, runs_folder

RECIPES = Path(__file__).parents[1] / "recipes"
KBS: dict[str, Callable[[], KnowledgeBase]] = {
    "open": open_kb,
    "ncbi-medic": medic_kb,
    "ncbi-dev": lambda: open_task("ncbi_disease", "dev").kb,
    "ncbi-test": lambda: open_task("ncbi_disease", "test").kb,
    "bc5cdr-medic": lambda: open_task("bc5cdr_disease_biosyn", "train").kb,
    "bc5cdr-dev": lambda: open_task("bc5cdr_disease_biosyn", "dev").kb,
    "askapatient": lambda: open_task("askapatient_fold0", "dev").kb,
    "askapatient-labels": lambda: open_task("askapatient_fold0_labels", "dev").kb,
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.results.train")
    parser.add_argument("names", nargs="+", help="recipes to run in order; existing models are not trained again")
    names = parser.parse_args(arguments).names
    logging.basicConfig(stream=sys.stderr, format="%(message)s")
    logging.getLogger("onym.train").setLevel(logging.INFO)
    for name in names:
        dest = runs_folder() / name
        if not dest.exists():
            train(config_of(name), dest, data_folder())
        print(dest)
    return 0


def config_of(name: str) -> ModelConfig:
    """Return the configuration of a recipe."""
    values = recipe(name)
    return MODEL_CONFIGS[values["stage"]].of(values, name)


def recipe(name: str) -> dict[str, Any]:
    """Return a recipe with all references replaced by paths."""
    values: dict[str, Any] = _resolve_paths(_read_config(name))
    return values


def _read_config(name: str) -> dict[str, Any]:
    values = read_toml(next(RECIPES.glob(f"*/{name}.toml"), RECIPES / f"{name}.toml"))
    like = values.pop("like", "")
    return merge(_read_config(like), values) if like else values


def _resolve_paths(values: Any) -> Any:
    if isinstance(values, dict):
        return {key: _resolve_paths(value) for key, value in values.items()}
    kind, colon, name = values.partition(":") if isinstance(values, str) else ("", "", "")
    if colon and kind == "model":
        return str(model_folder(name))
    if colon and kind == "run":
        return str(runs_folder() / name)
    if colon and kind == "kb":
        return str(KBS[name]().folder.parent)
    return values


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
