"""`onym train finetune`."""

from onym.cli.train.training import stage_command

command = stage_command(
    "finetune",
    """Teach a model to write each mention of a corpus as a name of its concept. A run that was stopped goes on.

Example: onym train finetune --preset cpu-small --set start.model=flan-t5-small --set data.benchmark=corpus -o linker
""",
)
