"""`onym train pretrain`."""

from onym.cli.train.training import stage_command

command = stage_command(
    "pretrain",
    """Teach a model the synonyms and definitions of a knowledge base. A run that was stopped goes on.

Example: onym train pretrain --config kb.toml -o pretrained
""",
)
