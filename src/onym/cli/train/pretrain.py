"""`onym train pretrain`."""

from onym.cli.train.training import stage_command

command = stage_command(
    "pretrain",
    """Pre-train a generative linker on the synonyms and definitions of a knowledge base. Resumes if interrupted.

Example: onym train pretrain --config kb.toml -o pretrained
""",
)
