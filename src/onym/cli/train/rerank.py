"""`onym train rerank`."""

from onym.cli.train.training import stage_command

command = stage_command(
    "rerank",
    """Train a reranker on annotated datasets: a memory of their mentions, and trees that order pooled candidates.

Example: onym train rerank --preset rerank-open --set data.kb=open-kb -o reranker
""",
)
