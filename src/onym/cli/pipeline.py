"""`onym pipeline`: build, inspect and tune pipelines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, progress_callback, write_json, write_lines
from onym.cli.help import MORE
from onym.cli.inputs import ids_in
from onym.cli.options import (
    CONCEPTS,
    DATA,
    DATASET,
    DETECTOR_OPTIONS,
    DOWNLOAD,
    KB,
    LINKER,
    LINKER_OPTIONS,
    PIPELINE_OPTIONS,
    PREFER_INSTEAD,
    SPLIT,
    command_with,
    split_commas,
)

app = typer.Typer(
    help="Build, inspect and tune pipelines: a detector and a linker over a knowledge base, for raw text.", no_args_is_help=True
)


@app.command(cls=command_with(config=PIPELINE_OPTIONS, detector=DETECTOR_OPTIONS, linker=LINKER_OPTIONS))
def build(
    context: typer.Context,
    kb: Annotated[Path, KB],
    folder: Annotated[
        Path, typer.Option("-o", "--output", help="Folder of the pipeline; the folder may already contain the KB and models.")
    ],
    detector: Annotated[
        str,
        typer.Option(
            help="dictionary (names of the KB), variants (patterns), student or model (trained), none, a plug-in, "
            "or several: a,b."
        ),
    ] = "dictionary",
    linker: Annotated[str, LINKER] = "exact",
    concepts: Annotated[Path | None, CONCEPTS] = None,
    component: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=MORE, metavar="NAME", help="Component of a plug-in. May be repeated; they run in this order."
        ),
    ] = None,
    download: Annotated[bool, DOWNLOAD] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing pipeline.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Build a pipeline: a small JSON file that refers to the detector, linker, knowledge base and models by path and digest.

    Example: onym pipeline build --kb mesh --detector dictionary --linker exact -o mesh-pipeline
    """
    from onym.errors import ConfigError
    from onym.methods import detector_config, linker_config
    from onym.parts import OpenContext
    from onym.pipeline.config import FILE, PipelineOptions
    from onym.pipeline.folder import build_pipeline
    from onym.store.output import require_file

    require_file(folder / FILE, force=force)
    options = context.obj
    if detector == "none" and options["detector"]:
        raise ConfigError(
            "config-invalid",
            "detector options cannot be combined with --detector none",
            fix="choose a --detector, or drop the detector options",
        )
    with progress("opening the pipeline") as bar:
        pipeline = build_pipeline(
            kb,
            folder,
            linker=linker_config(linker, **options["linker"]),
            detector=None if detector == "none" else detector_config(detector, **options["detector"]),
            options=PipelineOptions.of({**options["config"], "concepts": tuple(ids_in(concepts)) if concepts else ()}),
            components=component or (),
            force=force,
            context=OpenContext(download, progress_callback(bar)),
        )
    if json:
        write_json({"folder": str(folder), **pipeline.config})
    else:
        write_lines([("pipeline", str(folder / FILE)), ("detector", detector), ("linker", linker), ("kb", pipeline.kb.digest)])


@app.command()
def info(
    folder: Annotated[Path, typer.Argument(help="Folder of a pipeline.")],
    json: Annotated[bool, JSON] = False,
) -> None:
    """Show the components of a pipeline and their options, without loading them.

    Example: onym pipeline info mesh-pipeline
    """
    from onym.packs.locate import read_pipeline
    from onym.pipeline.folder import describe

    config = read_pipeline(folder)
    if json:
        write_json(config.model_dump(mode="json"))
    else:
        write_lines(describe(config))


@app.command()
def show(
    folder: Annotated[Path, typer.Argument(help="Folder or name of a pipeline.")],
    profile: Annotated[
        Path | None, typer.Option(help="Corpus to link, to show the share of the time that each step takes.")
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Show what runs in which order, and how much of the time each step takes.

    Example: onym pipeline show starter
    Example: onym pipeline show mesh-pipeline --profile notes.jsonl
    """
    from onym.corpora.corpus import read_corpus
    from onym.packs import load
    from onym.pipeline.show import describe_steps, profile_steps
    from onym.types import Document

    pipeline = load(folder)
    steps = describe_steps(pipeline)
    if profile is None:
        write_json({"steps": dict(steps)}) if json else write_lines(steps)
        return
    with progress("linking"):
        seconds = profile_steps(pipeline, (item for item in read_corpus(profile) if isinstance(item, Document)))
    if json:
        write_json({"steps": dict(steps), "seconds": seconds})
    else:
        total = sum(seconds.values()) or 1.0
        steps = [("read", "the corpus"), *steps]
        shares = ((name, seconds.get(name, 0.0), what) for name, what in steps)
        write_lines([(name, f"{100 * used / total:5.1f} %  {used:8.2f} s  {what}") for name, used, what in shares])


@app.command()
def tune(
    folder: Annotated[Path, typer.Argument(help="Folder of a pipeline.")],
    dataset: Annotated[str, DATASET],
    split: Annotated[str, SPLIT] = "dev",
    data: Annotated[Path | None, DATA] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Find the score threshold with the best strict F1 on a development set. Does not change the pipeline.

    Example: onym pipeline tune mesh-pipeline --dataset bc5cdr
    """
    from dataclasses import asdict

    from onym.evaluate.run import tune_pipeline
    from onym.evaluate.task import EvaluationTask
    from onym.packs import load

    with progress("tuning"):
        pipeline = load(folder)
        task = EvaluationTask.open(dataset, split, kb=pipeline.kb, data=data)
        tuned = tune_pipeline(task, pipeline)
    if json:
        write_json({"dataset": task.source, **asdict(tuned)})
        return
    figures = (("strict F1", tuned.f1), ("strict F1 without a threshold", tuned.f1_without))
    write_lines([("threshold", str(tuned.threshold)), *((name, f"{100 * share:.1f}") for name, share in figures)])


@app.command("check-names")
def check_names(
    folder: Annotated[Path, typer.Argument(help="Folder or name of a pipeline.")],
    names: Annotated[
        int, typer.Option(min=0, help="Names of each kind to check, preferred names and synonyms; 0 means all.")
    ] = 2000,
    prefer: Annotated[str, PREFER_INSTEAD] = "",
    json: Annotated[bool, JSON] = False,
) -> None:
    """Check that names of the knowledge base are linked to the concept that has them, and list those that are not.

    Names that several concepts have are checked if one of them comes first by the rules of --prefer.

    Example: onym pipeline check-names mesh-pipeline
    """
    from onym.evaluate.own_names import check_names as check
    from onym.packs import load

    with progress("linking names"):
        report = check(load(folder, prefer=split_commas(prefer)), names)
    if json:
        write_json(report.as_dict())
    else:
        write_lines(report.rows())
