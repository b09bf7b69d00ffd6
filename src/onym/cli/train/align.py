"""`onym train align`."""

from onym.cli.train.training import stage_command

command = stage_command(
    "align",
    """Teach an encoder that names of one concept mean the same, by pairs of them. A run that was stopped goes on.

Example: onym train align --preset cpu-small-align --set start.model=minilm --set data.kb=kb -o aligned
""",
)
