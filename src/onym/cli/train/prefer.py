"""`onym train prefer`."""

from onym.cli.train.training import stage_command

command = stage_command(
    "prefer",
    """Let a model learn from its own wrong answers on a corpus. A run that was stopped goes on.

Example: onym train prefer --preset angel-ncbi-negative --set start.model=linker -o better
""",
)
