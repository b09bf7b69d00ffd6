"""Options that `onym evaluate`, `onym compare` and `onym pipeline tune` share."""

from __future__ import annotations

import typer

DATASET = typer.Option("--dataset", "-d", help="The name of a dataset, or the folder of a prepared one.")
DATA = typer.Option(envvar="ONYM_DATA", show_envvar=False, help="Folder of the corpora; by default $ONYM_DATA.")
KB = typer.Option("--kb", help="The knowledge base; by default the pipeline's, or the dataset's own dictionary.")
SPLIT = typer.Option(help="train, dev or test.")
PROTOCOL = typer.Option(
    help="strict, one-id, any-id or biosyn; end to end: bhowmik-strict, bhowmik-partial, neleval-overlap-maxmax or document."
)
ALLOW_PARTIAL = typer.Option(
    "--allow-partial", help="Score predictions that lack some of the mentions or documents, or repeat some."
)
REPLACED = typer.Option(help="For scoring alone, a table of retired ids: two columns, the old id and the new one.")
