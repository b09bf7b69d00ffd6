"""Reranking: candidate pooling, features, a memory of training mentions, and gradient-boosted trees.

The linker `rerank` combines these parts; `onym train rerank` trains them.
"""
