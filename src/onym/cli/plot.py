"""`onym plot`: plot embeddings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, write_json, write_lines
from onym.cli.inputs import filter_of
from onym.cli.options import DEVICE, DOWNLOAD, FILTER_OPTIONS, FORCE, KB, command_with

app = typer.Typer(help="Plot embeddings.", no_args_is_help=True)


@app.command(cls=command_with(filter=FILTER_OPTIONS))
def names(
    context: typer.Context,
    kb: Annotated[Path, KB],
    model: Annotated[
        list[str],
        typer.Option(
            help="Folder of an encoder, or with --download its Hugging Face Hub name. May be given up to three times."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Image to write, .png or .svg.")],
    concepts: Annotated[
        Path | None, typer.Option(help="Plot the concepts listed in this file (one id per line, at most 40).")
    ] = None,
    sample: Annotated[
        int, typer.Option(min=2, max=40, help="Without --concepts: number of concepts to sample, each with at least 5 names.")
    ] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for sampling concepts.")] = 0,
    download: Annotated[bool, DOWNLOAD] = False,
    device: Annotated[str, DEVICE] = "auto",
    force: Annotated[bool, FORCE] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Plot the name embeddings of some concepts (t-SNE), one panel per encoder, such as before and after training.

    Example: onym plot names --kb mesh --model minilm --model minilm-aligned -o names.png
    """
    from onym.store.output import require_file

    require_file(output, force=force)
    from onym.evaluate.names import choose_names, draw_names, format_of, sample_concepts
    from onym.kb import KnowledgeBase
    from onym.kb.ranking import select_concepts
    from onym.store.output import whole_file

    kind, known = format_of(output), KnowledgeBase.open(kb)
    only = select_concepts(known, filter_of(context, concepts))
    shown = only.nonzero()[0].tolist() if concepts and only is not None else None
    with whole_file(output, force=force) as file, progress("choosing names") as bar:
        choice = choose_names(known, shown or sample_concepts(known, sample, seed=seed, only=only), seed=seed)

        def show(what: str, names: int) -> None:
            bar.update(bar.task_ids[0], description=what, completed=names, total=len(choice.names))

        picture = draw_names(choice, model, kind, seed=seed, download=download, device=device, progress=show)
        file.write(picture.data)
    described = choice.counts
    if json:
        models = [{**config, "nearest_of_same_concept": share} for config, share in picture.shares]
        write_json({**described, "concept_ids": [known.concept_ids[c] for c in choice.concepts], "models": models})
    else:
        rows = [(what.replace("_", " "), f"{number:,}") for what, number in described.items()]
        write_lines(rows + [(config["model"], f"{100 * share:.1f} %") for config, share in picture.shares])
