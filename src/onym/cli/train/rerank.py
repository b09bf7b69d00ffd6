"""`onym train rerank`."""

from onym.cli.train.training import stage_command

command = stage_command(
    "rerank",
    """Train a reranker on annotated datasets: gradient-boosted trees over pooled candidates, and counts of annotated mentions.

Example: onym train rerank --preset rerank-open --set data.kb=open-kb -o reranker
""",
)
