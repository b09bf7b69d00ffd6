"""`onym train collective`."""

from onym.cli.train.training import stage_command

command = stage_command(
    "collective",
    """Train a model that encodes a document once, to detect its mentions, to link them, or both. Resumes if interrupted.

Example: onym train collective --preset cpu-small-collective --set start.model=minilm --set data.dataset=mine --set data.kb=kb
""",
)
