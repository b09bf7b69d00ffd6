"""`onym train match`."""

from onym.cli.train.training import stage_command

command = stage_command(
    "match",
    """Fine-tune an encoder on the mentions of a dataset, for the dense linker. Resumes if interrupted.

Example: onym train match --preset cpu-small-match --set start.model=aligned --set data.dataset=mine --set data.kb=kb -o matched
""",
)
