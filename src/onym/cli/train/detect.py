"""`onym train detect`."""

from onym.cli.train.training import stage_command

command = stage_command(
    "detect",
    """Train a detector of mentions by type on several corpora together. Resumes if interrupted.

Example: onym train detect --preset cpu-small-detect --set start.model=granite -o detector
""",
)
