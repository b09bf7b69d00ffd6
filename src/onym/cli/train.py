"""`onym train`: train generative linkers, name encoders, collective models, detectors, rerankers and whole pipelines."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from onym.cli.console import JSON, log_to_stderr, write_json, write_lines, write_plain
from onym.cli.options import KB, OF_CONFIG, ConfigOptions, command_with
from onym.errors import ConfigError, missing_extra

if TYPE_CHECKING:
    from onym.train.configs import TrainingStage
    from onym.train.pipeline import PipelineTrainingConfig

app = typer.Typer(
    help="Train a generative linker, an encoder for the dense linker, a collective model (detects and links in one pass), "
    "a mention detector, large or small, a classifier for dictionary matches, a candidate reranker, or a whole pipeline.",
    no_args_is_help=True,
)
CONFIG = typer.Option(help="Configuration file, .toml.")
PRESET = typer.Option(help="Preset to start from; see onym train presets.")
SET = typer.Option("--set", help="Override one key, such as optim.steps=100. May be repeated.")
OUTPUT = typer.Option(
    "-o",
    "--output",
    help="Folder of the trained model; by default $ONYM_RUNS/NAME, with the name of the configuration or preset.",
)
DATA = typer.Option(envvar="ONYM_DATA", help="Folder of the downloaded corpora, for datasets that are not prepared yet.")
DEVICE = typer.Option(help="Device to train on: auto, cpu, cuda, cuda:N or mps. Same as --set optim.device=...")
STAGES: dict[TrainingStage, tuple[str, str]] = {
    "pretrain": (
        "Pre-train a generative linker on the synonyms and definitions of a knowledge base. Resumes if interrupted.",
        "--config kb.toml -o pretrained",
    ),
    "finetune": (
        "Fine-tune a generative linker on the mentions of a dataset. Resumes if interrupted.",
        "--preset cpu-small --set start.model=t5 --set data.dataset=mine --set data.kb=kb -o linker",
    ),
    "prefer": (
        "Train a linker by preference optimisation on hard negatives (DPO, CPO, SimPO; ANGEL). Resumes if interrupted.",
        "--preset angel-ncbi-negative --set start.model=linker --set data.kb=kb -o better",
    ),
    "align": (
        "Train an encoder on the synonyms of a knowledge base, for the dense linker (SapBERT). Resumes if interrupted.",
        "--preset cpu-small-align --set start.model=minilm --set data.kb=kb -o aligned",
    ),
    "match": (
        "Fine-tune an encoder on the mentions of a dataset, for the dense linker. Resumes if interrupted.",
        "--preset cpu-small-match --set start.model=aligned --set data.dataset=mine --set data.kb=kb -o matched",
    ),
    "collective": (
        "Train a collective model, which encodes a document once to detect and/or link its mentions. Resumes if interrupted.",
        "--preset cpu-small-collective --set start.model=minilm --set data.dataset=mine --set data.kb=kb",
    ),
    "detect": (
        "Train a mention detector (spans with types) on one or more corpora. Resumes if interrupted.",
        "--preset cpu-small-detect --set start.model=granite -o detector",
    ),
    "mentions": (
        "Train a classifier for the dictionary detector that filters out matches that are not mentions.",
        "--preset mentions-open --set data.kb=open-kb -o classifier",
    ),
    "rerank": (
        (
            "Train a reranker on annotated datasets: gradient-boosted trees over pooled candidates, "
            "and counts of annotated mentions."
        ),
        "--preset rerank-open --set data.kb=open-kb -o reranker",
    ),
    "genes": (
        "Train a gene linker on annotated datasets: trees that find the species of a mention, then its gene.",
        "--preset genes-open --set data.kb=genes-kb -o gene-linker",
    ),
    "organisms": (
        "Train a linker of species and cell lines on annotated datasets: trees that choose among concepts of similar names.",
        "--preset organisms-open --set data.kb=organisms-kb -o organism-linker",
    ),
    "student": (
        "Train a small, fast detector on annotated datasets: a network of a few megabytes that runs on NumPy.",
        "--preset student-open --set data.kb=open-kb -o student",
    ),
}
"""Training stages, each with its help text and the options of its example."""
OWN_TRAINING = {
    "mentions": ("sklearn", "onym.train.dictionary.trainer", "train_classifier"),
    "rerank": ("sklearn", "onym.train.reranker.trainer", "train_reranker"),
    "genes": ("sklearn", "onym.train.genes.trainer", "train_genes"),
    "organisms": ("sklearn", "onym.train.genes.organism_trainer", "train_organisms"),
    "student": ("torch", "onym.train.student.trainer", "train_student"),
}
"""Stages without a pretrained model: a package that they need, and the module and function that train."""


def stage_command(stage: TrainingStage) -> Callable[..., None]:
    """Return the command function of a stage."""

    def train_stage(
        config: Annotated[Path | None, CONFIG] = None,
        preset: Annotated[str, PRESET] = "",
        overrides: Annotated[list[str] | None, SET] = None,
        output: Annotated[Path | None, OUTPUT] = None,
        data: Annotated[Path | None, DATA] = None,
        device: Annotated[str | None, DEVICE] = None,
    ) -> None:
        own = [f"optim.device={device}"] if device is not None else []
        _run(stage, config, preset, [*(overrides or []), *own], output, data)

    return train_stage


for _stage, (_help, _example) in STAGES.items():
    app.command(_stage, help=f"{_help}\n\nExample: onym train {_stage} {_example}")(stage_command(_stage))


def _training_config() -> type[PipelineTrainingConfig]:
    try:
        from onym.train.pipeline import PipelineTrainingConfig
    except ImportError as e:
        raise missing_extra("training", "train") from e
    return PipelineTrainingConfig


@app.command(cls=command_with(config=ConfigOptions(_training_config, own={"datasets": "dataset", "types": "type"})))
def pipeline(
    context: typer.Context,
    dataset: Annotated[
        list[str],
        typer.Option("--dataset", "-d", help="Name of a dataset, or folder of a prepared one. May be repeated."),
    ],
    kb: Annotated[Path, KB],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the pipeline.")],
    type: Annotated[  # noqa: A002 - the name of the option
        list[str] | None,
        typer.Option(
            help="Annotated mention type to train on, or TYPE=GROUP to map it to a semantic group; by default all types. "
            "May be repeated."
        ),
    ] = None,
    exclude: Annotated[list[str] | None, OF_CONFIG] = None,
    private: Annotated[bool, typer.Option("--private")] = False,
    data: Annotated[Path | None, DATA] = None,
) -> None:
    """Train a whole pipeline on annotated documents: detector, reranker and confidence. Resumes if interrupted.

    Example: onym train pipeline --dataset mine --kb open-kb --type Disease -o my-pipeline
    """
    config = _training_config()
    from onym.train.pipeline import read_dev_figures, train_pipeline

    types = {name: group or name for name, _, group in (each.partition("=") for each in type or ())}
    wanted = {"datasets": dataset, "exclude": exclude or (), "private": private, "kb": str(kb), "types": types}
    with log_to_stderr("onym.train"):
        pipeline = train_pipeline(config.of(wanted | context.obj["config"]), output, data)
    dev = read_dev_figures(output)
    f1 = dev["f1_held_out" if pipeline.config["threshold"] is not None else "f1_without"]
    confidence = "calibrated" if pipeline.calibration is not None else "not calibrated: too few annotated mentions in dev"
    write_lines(
        [
            ("pipeline", str(output)),
            (
                "strict F1 on dev",
                f"{100 * f1:.1f} from raw text, {dev['mentions']:,} mentions in {dev['documents']:,} documents",
            ),
            ("confidence", confidence),
        ]
    )


@app.command()
def presets(
    name: Annotated[str, typer.Argument(help="Preset to print as a configuration; without it, all presets are listed.")] = "",
    json: Annotated[bool, JSON] = False,
) -> None:
    """List the presets, or print one.

    Example: onym train presets genbioel-ncbi
    """
    from onym.train.stages import find_preset, preset_text, presets

    if json:
        write_json(find_preset(name) if name else presets())
        return
    write_plain(preset_text(name) if name else "\n".join(presets()))


def _run(
    stage: TrainingStage, config: Path | None, preset: str, overrides: list[str], output: Path | None, data: Path | None
) -> None:
    """Read the configuration, train, and print the paths of the results."""
    from onym.train.stages import read_config, require_new, runs_folder

    read = read_config(stage, config, preset, overrides)
    name = output.name if output else config.stem if config else preset
    if not name:
        raise ConfigError(
            "config-invalid", "neither --config nor --preset is given", fix="give one; onym train presets lists the presets"
        )
    dest = output or runs_folder() / name
    require_new(dest)
    train = _training_function(stage)
    with log_to_stderr("onym.train"):
        folder = train(read, dest, data)
    log = folder / "log.jsonl"
    rows = [("model", str(folder)), ("card", str(folder / "README.md"))]
    write_lines([*rows, ("log", str(log))] if log.is_file() else rows)


def _training_function(stage: TrainingStage) -> Callable[[Any, Path, Path | None], Path]:
    """Return the training function of a stage. Missing packages are reported first, before the slow import of torch."""
    package, module, function = OWN_TRAINING.get(stage, ("accelerate", "onym.train.run", "train"))
    if find_spec(package) is None:
        raise missing_extra("training", "train")
    try:
        return cast("Callable[[Any, Path, Path | None], Path]", getattr(import_module(module), function))
    except ImportError as e:
        raise missing_extra("training", "train") from e
