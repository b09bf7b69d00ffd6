"""`onym train mentions`."""

from onym.cli.train.training import stage_command

command = stage_command(
    "mentions",
    """Train a classifier for the dictionary detector, which filters out matches that are ordinary words.

Example: onym train mentions --preset mentions-open --set data.kb=open-kb -o classifier
""",
)
