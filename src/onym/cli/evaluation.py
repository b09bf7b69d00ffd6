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
    "--allow-partial", help="Score predictions with missing or repeated mentions or documents; missing ones count as wrong."
)
REPLACED = typer.Option(help="Table of retired ids, used for scoring only. Two columns: old id, new id.")
