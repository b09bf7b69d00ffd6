"""`onym train mentions`."""

from onym.cli.train.training import stage_command

command = stage_command(
    "mentions",
    """Train a classifier that tells mentions from words among the names that the dictionary finds.

Example: onym train mentions --preset mentions-open --set data.kb=open-kb -o classifier
""",
)
