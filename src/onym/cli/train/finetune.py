"""`onym train finetune`."""

from onym.cli.train.training import stage_command

command = stage_command(
    "finetune",
    """Fine-tune a generative linker on the mentions of a dataset. Resumes if interrupted.

Example: onym train finetune --preset cpu-small --set start.model=t5 --set data.dataset=mine --set data.kb=kb -o linker
""",
)
