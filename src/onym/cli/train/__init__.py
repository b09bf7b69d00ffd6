"""`onym train`: train generative linkers, encoders of names, collective models, detectors and rerankers."""

import typer

from onym.cli.train import align, collective, detect, finetune, match, mentions, pipeline, prefer, presets, pretrain, rerank

app = typer.Typer(
    help="Train a generative linker, an encoder for the dense linker, a model that detects and links whole documents, "
    "a detector of mentions, a classifier for the dictionary, a reranker of candidates, or a whole pipeline.",
    no_args_is_help=True,
)
for module in (pretrain, finetune, prefer, align, match, collective, detect, mentions, rerank, pipeline, presets):
    app.command(name=module.__name__.rpartition(".")[2])(module.command)
