"""`onym train match`."""

from onym.cli.train.training import stage_command

command = stage_command(
    "match",
    """Teach an encoder which names the mentions of a corpus mean. A run that was stopped goes on.

Example: onym train match --preset cpu-small-match --set start.model=aligned --set data.benchmark=corpus -o matched
""",
)
