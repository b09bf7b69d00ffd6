"""`onym train align`."""

from onym.cli.train.training import stage_command

command = stage_command(
    "align",
    """Train an encoder on the synonyms of a knowledge base, for the dense linker (SapBERT). Resumes if interrupted.

Example: onym train align --preset cpu-small-align --set start.model=minilm --set data.kb=kb -o aligned
""",
)
