"""`onym train collective`."""

from onym.cli.train.training import stage_command

command = stage_command(
    "collective",
    """Teach an encoder to read documents: to find mentions, to link them all at once, or both. A run that was stopped goes on.

Example: onym train collective --preset cpu-small-collective --set start.model=minilm --set data.benchmark=corpus -o reader
""",
)
